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

package console

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// untimed takes the times out of printed text.
func untimed(text string) string {
	return regexp.MustCompile(`[0-9.]+ ?s`).ReplaceAllString(text, "T")
}

func TestWhereNothingCanBeRepaintedEveryChangeIsALine(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	good, bad := p.Task("build"), p.Task("start")
	good.Note("%d of 2", 1)
	p.Line("server-%d is available", 1)
	good.remind()
	good.Done(nil)
	bad.Done(errors.New("no"))
	p.Text("the end\n\n")
	want := `   T  build ...
   T  start ...
   T  server-1 is available
   T  still build: 1 of 2, T so far
   T  build: done (T)
   T  start: FAILED (T)
the end
`
	if diff := cmp.Diff(want, untimed(out.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnATerminalTasksAreRepaintedBelowTheLines(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	p.live, p.width = true, 20
	task := p.Task("build something long")
	p.Line("ready")
	task.Done(nil)
	const erase = "\x1b[1A\x1b[J"
	want := "   ...   build some\n" +
		erase + "   T  ready\n" + "   ...   build some\n" +
		erase + "   T  build something long: done (T)\n"
	if diff := cmp.Diff(want, untimed(out.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWordIsOneWordOfAShell(t *testing.T) {
	for given, want := range map[string]string{"/a/b-1.2": "/a/b-1.2", "/with space/b": "'/with space/b'", "/it's": `'/it'\''s'`} {
		if got := Word(given); got != want {
			t.Errorf("Word(%q) = %s, want %s", given, got, want)
		}
	}
}
