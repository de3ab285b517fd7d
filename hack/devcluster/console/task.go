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
	"time"
)

// Task is something that runs for a while.
type Task struct {
	printer *Printer
	name    string
	note    string
	start   time.Time
	done    chan struct{}
}

// Task shows name as running until Done is called.
func (p *Printer) Task(name string) *Task {
	t := &Task{printer: p, name: name, start: time.Now(), done: make(chan struct{})}
	p.mu.Lock()
	p.erase()
	p.tasks = append(p.tasks, t)
	if !p.live {
		p.line(name + " ...")
	}
	p.paint()
	p.mu.Unlock()
	go t.tick()
	return t
}

// Note adds what the task is doing at the moment.
func (t *Task) Note(format string, args ...any) {
	t.printer.mu.Lock()
	defer t.printer.mu.Unlock()
	t.note = fmt.Sprintf(format, args...)
	t.printer.erase()
	t.printer.paint()
}

// Done ends the task with one line: how long it took, or that it failed. The error itself
// is left to the caller to print once.
func (t *Task) Done(err error) {
	close(t.done)
	p := t.printer
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.remove(t)
	word := "done"
	if err != nil {
		word = "FAILED"
	}
	p.line(fmt.Sprintf("%s: %s (%.1f s)", t.name, word, time.Since(t.start).Seconds()))
}

// tick repaints a terminal every second, or writes a reminder to a log.
func (t *Task) tick() {
	period := reminder
	if t.printer.live {
		period = time.Second
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-t.done:
			return
		case <-ticker.C:
			t.remind()
		}
	}
}

func (t *Task) remind() {
	p := t.printer
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.erase()
		p.paint()
		return
	}
	p.line(fmt.Sprintf("still %s, %.0f s so far", t.label(), time.Since(t.start).Seconds()))
}

func (t *Task) label() string {
	if t.note == "" {
		return t.name
	}
	return t.name + ": " + t.note
}
