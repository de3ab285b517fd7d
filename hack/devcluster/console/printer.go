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
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// reminder is how often a task that takes long is mentioned where lines cannot
// be repainted.
const reminder = 30 * time.Second

// Printer writes lines and running tasks to one stream. It may be used by
// several goroutines.
type Printer struct {
	mu      sync.Mutex
	out     io.Writer
	live    bool
	width   int
	start   time.Time
	tasks   []*Task
	painted int
}

// New returns a printer for out. Use io.Discard to be silent.
func New(out io.Writer) *Printer {
	p := &Printer{out: out, start: time.Now()}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		width, _, err := term.GetSize(int(f.Fd()))
		p.live, p.width = err == nil && width > 20, width
	}
	return p
}

// Elapsed is the time since the printer was made.
func (p *Printer) Elapsed() time.Duration {
	return time.Since(p.start)
}

// Line prints one finished line with the time since the start in front.
func (p *Printer) Line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(fmt.Sprintf(format, args...))
}

// Text prints text as it is, without the time.
func (p *Printer) Text(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.out, strings.TrimRight(text, "\n"))
	p.paint()
}

func (p *Printer) line(text string) {
	p.erase()
	fmt.Fprintf(p.out, "%6.1fs  %s\n", time.Since(p.start).Seconds(), text)
	p.paint()
}

// erase removes the painted tasks from a terminal.
func (p *Printer) erase() {
	if p.painted > 0 {
		fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.painted)
		p.painted = 0
	}
}

// paint draws the running tasks below everything else, each cut to one row.
func (p *Printer) paint() {
	if !p.live {
		return
	}
	for _, t := range p.tasks {
		row := []rune(fmt.Sprintf("   ...   %s %.0fs", t.label(), time.Since(t.start).Seconds()))
		fmt.Fprintln(p.out, string(row[:min(len(row), p.width-1)]))
	}
	p.painted = len(p.tasks)
}

func (p *Printer) remove(t *Task) {
	p.tasks = slices.DeleteFunc(p.tasks, func(other *Task) bool { return other == t })
}

// Word writes a path as one word of a shell's command line.
func Word(path string) string {
	if !strings.ContainsAny(path, " \t\n'\"\\$`&;|<>()*?[]#~!{}") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
