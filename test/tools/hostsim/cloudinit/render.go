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
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

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

// renderTag handles the text from a brace on and says how much of it is done.
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
