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

// Package text bounds the texts that are shown to users. Tenants and remote clusters may have written
// them, in any number and length, and an answer is kept in memory several times on its way. A text
// that is cut ends with a note of that. The order is kept: what comes first is shown.
package text

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Provisioning is how both managers word that a host is on its way to its image. A machine repeats its claim.
const Provisioning = "Waiting for the host to be provisioned"

const (
	// MaxFindings bounds the problems or warnings of an answer.
	MaxFindings = 20
	// maxNames and maxNamesLength bound a list of names.
	maxNames       = 16
	maxNamesLength = 512
	// maxValue and maxDetail bound, in bytes, the two parts of a problem.
	maxValue  = 512
	maxDetail = 1024
)

// Problems returns the first problems of all sequences. If there are more, the detail of the last one
// mentions them; they are not computed.
func Problems(found ...iter.Seq[*field.Error]) field.ErrorList {
	list, more := first(found)
	for i, problem := range list {
		list[i] = short(problem)
	}
	if more {
		list[len(list)-1].Detail += "; further problems were not looked for"
	}
	return list
}

// Warnings returns the first warnings of all sequences, and one about the rest if there are more.
func Warnings(found ...iter.Seq[string]) []string {
	list, more := first(found)
	for i, text := range list {
		list[i] = Shorten(text, maxValue+maxDetail)
	}
	if more {
		list = append(list, "further warnings are left out")
	}
	return list
}

// first takes what an answer has room for, and reports whether there is more.
func first[T any](found []iter.Seq[T]) (list []T, more bool) {
	for _, sequence := range found {
		for one := range sequence {
			if len(list) == MaxFindings {
				return list, true
			}
			list = append(list, one)
		}
	}
	return list, false
}

// short returns the problem with a bounded value and detail.
func short(problem *field.Error) *field.Error {
	brief := *problem
	brief.Detail = Shorten(brief.Detail, maxDetail)
	switch value := brief.BadValue.(type) {
	case string:
		brief.BadValue = Shorten(value, maxValue)
	case nil, field.OmitValueType:
	default:
		if text, err := json.Marshal(value); err != nil || len(text) > maxValue {
			brief.BadValue = field.OmitValueType{}
		}
	}
	return &brief
}

// List returns the first names with commas between them, and the number of the others.
func List(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	length := 0
	for i, name := range names {
		length += len(name)
		if i > 0 && (i == maxNames || length > maxNamesLength) {
			return fmt.Sprintf("%s, … and %d more", strings.Join(names[:i], ", "), len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}

// MaxNote is how many bytes the API server accepts in the note of an event; with more it refuses the event.
const MaxNote = 1024

// Shorten returns a text of at most that many bytes, cut between two characters and with an ellipsis if it has more.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Cut(text, limit-len("…")) + "…"
}

// Cut returns as many whole characters of a text as there is room for in that many bytes.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// Printable returns a text in one line, without characters that are not printed.
func Printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// HashLength is how many hex digits keep two names apart.
const HashLength = 8

// Name returns a name of an object, cut and made unique by a hash of the whole where it is longer than the limit. It is
// not cut behind a dot, since a hyphen may not follow one.
func Name(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return strings.TrimRight(name[:limit-HashLength-1], "-.") + "-" + Hash(name)
}

// Hash returns a short hash, in characters that names may have.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:HashLength]
}
