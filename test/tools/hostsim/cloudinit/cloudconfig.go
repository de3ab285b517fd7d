/*
Copyright 2026 The Metal3 HostClaim provider authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// Config is the part of a cloud-config that decides how a machine joins its
// cluster.
type Config struct {
	// Files holds the final content of every file of write_files, by path.
	Files map[string][]byte
	// Commands are the lines of runcmd in their order; a command given as a
	// list of words is joined by blanks.
	Commands []string
	// Hostname is what the user data calls the machine; empty if that is left to the metadata.
	Hostname string
}

// document mirrors the YAML of a cloud-config.
type document struct {
	Hostname   string            `json:"hostname"`
	WriteFiles []file            `json:"write_files"`
	RunCmd     []json.RawMessage `json:"runcmd"`
}

type file struct {
	Path     string `json:"path"`
	Encoding string `json:"encoding"`
	Content  string `json:"content"`
	Append   bool   `json:"append"`
}

// Parse reads a rendered cloud-config.
func Parse(userData []byte) (Config, error) {
	first, _, _ := bytes.Cut(userData, []byte("\n"))
	if strings.TrimSpace(string(first)) != "#cloud-config" {
		return Config{}, fmt.Errorf("user data is not a cloud-config: it starts with %q", excerpt(userData))
	}
	var doc document
	if err := yaml.Unmarshal(userData, &doc); err != nil {
		return Config{}, fmt.Errorf("cloud-config: %w", err)
	}
	config := Config{Files: map[string][]byte{}, Hostname: doc.Hostname}
	for _, f := range doc.WriteFiles {
		content, err := f.decode()
		if err != nil {
			return Config{}, fmt.Errorf("write_files %s: %w", f.Path, err)
		}
		if f.Append {
			content = append(config.Files[f.Path], content...)
		}
		config.Files[f.Path] = content
	}
	for i, raw := range doc.RunCmd {
		command, err := commandLine(raw)
		if err != nil {
			return Config{}, fmt.Errorf("runcmd %d: %w", i, err)
		}
		config.Commands = append(config.Commands, command)
	}
	return config, nil
}

// decode undoes the encoding that the file names. Compressed content is base64
// on the outside, since YAML holds no bytes.
func (f file) decode() ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(f.Encoding)) {
	case "", "text/plain":
		return []byte(f.Content), nil
	case "b64", "base64":
		return fromBase64(f.Content)
	case "gz+b64", "gzip+b64", "gz+base64", "gzip+base64":
		compressed, err := fromBase64(f.Content)
		if err != nil {
			return nil, err
		}
		reader, err := gzip.NewReader(bytes.NewReader(compressed))
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return io.ReadAll(reader)
	default:
		return nil, fmt.Errorf("encoding %q is not supported", f.Encoding)
	}
}

// fromBase64 decodes content that may be broken into lines.
func fromBase64(content string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), ""))
	if err != nil {
		return nil, fmt.Errorf("base64: %w", err)
	}
	return decoded, nil
}

// commandLine accepts both spellings of a runcmd entry: a shell line or a list.
func commandLine(raw json.RawMessage) (string, error) {
	var line string
	if err := json.Unmarshal(raw, &line); err == nil {
		return line, nil
	}
	var words []string
	if err := json.Unmarshal(raw, &words); err != nil {
		return "", fmt.Errorf("%s is neither a string nor a list of strings", raw)
	}
	return strings.Join(words, " "), nil
}
