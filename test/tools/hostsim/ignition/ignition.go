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

package ignition

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/cloudinit"
)

// document mirrors the JSON of a configuration of version 2 or 3.
type document struct {
	Ignition struct {
		Version string          `json:"version"`
		Config  json.RawMessage `json:"config"`
	} `json:"ignition"`
	Storage struct {
		Files []file `json:"files"`
	} `json:"storage"`
	Systemd struct {
		Units []unit `json:"units"`
	} `json:"systemd"`
}

type file struct {
	Path     string          `json:"path"`
	Append   json.RawMessage `json:"append"`
	Contents struct {
		Source      string `json:"source"`
		Compression string `json:"compression"`
	} `json:"contents"`
}

type unit struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"`
	Contents string `json:"contents"`
}

// Is reports whether user data is meant for Ignition.
func Is(userData []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(userData), []byte("{"))
}

// Parse reads a configuration on a machine whose config drive has this metadata. What lies
// elsewhere, or is added to files of the image, is an error.
func Parse(userData []byte, metaData map[string]any) (cloudinit.Config, error) {
	var doc document
	if err := json.Unmarshal(userData, &doc); err != nil {
		return cloudinit.Config{}, fmt.Errorf("ignition: %w", err)
	}
	switch {
	case doc.Ignition.Version == "":
		return cloudinit.Config{}, errors.New("ignition: ignition.version is missing")
	case !empty(doc.Ignition.Config):
		return cloudinit.Config{}, errors.New("ignition: ignition.config, which leads to other configurations, is not played")
	}
	config := cloudinit.Config{Files: map[string][]byte{}}
	for _, f := range doc.Storage.Files {
		content, err := f.decode()
		if err != nil {
			return cloudinit.Config{}, fmt.Errorf("ignition: file %s: %w", f.Path, err)
		}
		config.Files[f.Path] = content
	}
	for _, u := range doc.Systemd.Units {
		if u.Enabled {
			config.Commands = append(config.Commands, commands(u.Contents, config.Files)...)
		}
	}
	for _, line := range config.Commands {
		if err := fillIn(line, config.Files, metaData); err != nil {
			return cloudinit.Config{}, fmt.Errorf("ignition: %w", err)
		}
	}
	return config, nil
}

func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "{}", "[]", "false":
		return true
	default:
		return false
	}
}

// decode reads a data URL (RFC 2397).
func (f file) decode() ([]byte, error) {
	if !empty(f.Append) {
		return nil, errors.New("append is not played")
	}
	if f.Contents.Source == "" {
		return nil, nil
	}
	head, text, found := strings.Cut(f.Contents.Source, ",")
	if !found || !strings.HasPrefix(head, "data:") {
		return nil, fmt.Errorf("source %.40q is no data URL, and others are not played", f.Contents.Source)
	}
	unescaped, err := url.PathUnescape(text)
	if err != nil {
		return nil, err
	}
	content := []byte(unescaped)
	if strings.HasSuffix(head, ";base64") {
		if content, err = base64.StdEncoding.DecodeString(unescaped); err != nil {
			return nil, err
		}
	}
	switch f.Contents.Compression {
	case "":
		return content, nil
	case "gzip":
		reader, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return io.ReadAll(reader)
	default:
		return nil, fmt.Errorf("compression %q is not known", f.Contents.Compression)
	}
}

// commands are what a unit starts, and in place of a script for bash its lines.
func commands(unit string, files map[string][]byte) []string {
	var lines []string
	for line := range strings.Lines(unit) {
		command, found := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=")
		if !found {
			continue
		}
		path, bash := strings.CutPrefix(command, "/bin/bash ")
		script, found := files[path]
		if !bash || !found {
			lines = append(lines, command)
			continue
		}
		for line := range strings.Lines(string(script)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

var (
	// fills is a script that is given the metadata of the config drive, and a file.
	fills = regexp.MustCompile(`^(\S+) \S+/openstack/latest/meta_data\.json (\S+)$`)
	// place is where a file wants metadata.
	place = regexp.MustCompile(`{{ *ds\.meta_data\.(\S+) *}}`)
)

func fillIn(line string, files map[string][]byte, metaData map[string]any) error {
	words := fills.FindStringSubmatch(line)
	if words == nil {
		return nil
	}
	for _, path := range words[1:] {
		if _, found := files[path]; !found {
			return fmt.Errorf("%q: there is no file %s", line, path)
		}
	}
	var missing []string
	files[words[2]] = place.ReplaceAllFunc(files[words[2]], func(found []byte) []byte {
		key := string(place.FindSubmatch(found)[1])
		value, known := metaData[key]
		if !known {
			missing = append(missing, key)
		}
		return fmt.Append(nil, value)
	})
	if missing != nil {
		return fmt.Errorf("%q: the metadata has no %s", line, strings.Join(missing, ", "))
	}
	return nil
}
