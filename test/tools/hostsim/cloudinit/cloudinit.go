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
	"maps"
	"regexp"
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

// InstanceData lists the names that a user data template may use on a machine
// whose config drive carries this metadata: the metadata itself as
// ds.meta_data, the standardized v1 names, and these once more without prefix.
// A key with hyphens can also be written with underscores.
func InstanceData(metaData map[string]any) map[string]any {
	meta := maps.Clone(metaData)
	if meta == nil {
		meta = map[string]any{}
	}
	// The OpenStack reader of cloud-init renames two keys.
	if uuid, ok := meta["uuid"]; ok {
		meta["instance-id"] = uuid
	}
	if hostname, ok := meta["hostname"]; ok {
		meta["local-hostname"] = hostname
	}
	v1 := map[string]any{}
	if id, ok := meta["instance-id"]; ok {
		v1["instance_id"] = id
	}
	if name := Hostname(meta); name != "" {
		v1["local_hostname"] = name
	}
	if zone, ok := meta["availability_zone"]; ok {
		v1["availability_zone"] = zone
	}
	vars := maps.Clone(v1)
	vars["v1"] = v1
	vars["ds"] = map[string]any{"meta_data": meta}
	return aliased(vars)
}

// Hostname is the name that cloud-init gives the machine: local-hostname up to
// its first dot, or nothing if the metadata has none.
func Hostname(metaData map[string]any) string {
	name, _ := metaData["local-hostname"].(string)
	if hostname, ok := metaData["hostname"].(string); ok {
		name = hostname
	}
	short, _, _ := strings.Cut(name, ".")
	return short
}

// aliased adds an underscore spelling for every hyphenated key, at all levels.
// A key that is really there wins over an alias.
func aliased(in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for key, value := range in {
		if nested, ok := value.(map[string]any); ok {
			value = aliased(nested)
		}
		out[key] = value
		alias := strings.ReplaceAll(key, "-", "_")
		if _, taken := in[alias]; !taken {
			out[alias] = value
		}
	}
	return out
}

// templateHeader is the first line that makes cloud-init treat user data as a
// Jinja template.
var templateHeader = regexp.MustCompile(`(?i)^##\s*template:\s*jinja\s*$`)

// lookup is the one expression form that is understood: a name followed by
// .attribute or ['key'] steps.
var (
	lookup     = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*|\[('[^']*'|"[^"]*")\])*$`)
	lookupStep = regexp.MustCompile(`[A-Za-z_]\w*|\['[^']*'\]|\["[^"]*"\]`)
)

// Render replaces every `{{ … }}` of user data that declares itself a Jinja
// template by its value in vars, and drops the declaration. Other user data is
// returned as it is. A name that vars does not have is an error, as is every
// Jinja construct other than a lookup: a machine must not boot with a hole in
// its configuration.
func Render(userData []byte, vars map[string]any) ([]byte, error) {
	first, rest, _ := bytes.Cut(userData, []byte("\n"))
	if !templateHeader.Match(bytes.TrimRight(first, "\r")) {
		return userData, nil
	}
	var out bytes.Buffer
	for {
		open := bytes.IndexByte(rest, '{')
		if open < 0 || open == len(rest)-1 {
			out.Write(rest)
			return out.Bytes(), nil
		}
		out.Write(rest[:open])
		rest = rest[open:]
		consumed, err := renderTag(&out, rest, vars)
		if err != nil {
			return nil, err
		}
		rest = rest[consumed:]
	}
}

// renderTag handles the text from a brace on and returns how much of it is done.
func renderTag(out *bytes.Buffer, text []byte, vars map[string]any) (int, error) {
	switch text[1] {
	case '{':
		end := bytes.Index(text, []byte("}}"))
		if end < 0 {
			return 0, fmt.Errorf("template expression %q is not closed", excerpt(text))
		}
		value, err := evaluate(strings.TrimSpace(string(text[2:end])), vars)
		if err != nil {
			return 0, err
		}
		out.WriteString(value)
		return end + 2, nil
	case '%', '#':
		return 0, fmt.Errorf("template construct %q is not supported, only {{ name.attribute }} is", excerpt(text))
	default:
		out.WriteByte(text[0])
		return 1, nil
	}
}

// evaluate looks an expression up in vars.
func evaluate(expression string, vars map[string]any) (string, error) {
	if !lookup.MatchString(expression) {
		return "", fmt.Errorf("template expression %q is not supported, only {{ name.attribute }} is", expression)
	}
	var current any = vars
	for _, step := range lookupStep.FindAllString(expression, -1) {
		fields, ok := current.(map[string]any)
		if !ok {
			return "", fmt.Errorf("template variable %q is undefined", expression)
		}
		if current, ok = fields[strings.Trim(step, `[]'"`)]; !ok {
			return "", fmt.Errorf("template variable %q is undefined", expression)
		}
	}
	return scalar(expression, current)
}

// scalar prints a value the way Jinja, a Python library, prints it.
func scalar(expression string, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case nil:
		return "None", nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case float64, int, int64:
		// As in meta_data.json, where the value comes from.
		number, err := json.Marshal(v)
		return string(number), err
	default:
		return "", fmt.Errorf("template variable %q is not a single value", expression)
	}
}

// excerpt is the start of a text, short enough for a message.
func excerpt(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line[:min(len(line), 40)])
}
