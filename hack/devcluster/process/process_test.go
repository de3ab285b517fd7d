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

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newGroup(t *testing.T) *Group {
	t.Helper()
	g, err := NewGroup(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func run(t *testing.T, g *Group, program string, args ...string) *Process {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Start(Spec{Name: program, Path: path, Args: args, Tier: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStopEndsTheProcess(t *testing.T) {
	g := newGroup(t)
	p := run(t, g, "sleep", "1000")
	if !p.Alive() {
		t.Fatal("a started process is not alive")
	}
	if bytes, err := p.ResidentBytes(); err != nil || bytes <= 0 {
		t.Errorf("ResidentBytes() = %d, %v", bytes, err)
	}
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if p.Alive() {
		t.Error("the process is alive after Stop")
	}
	if _, err := g.Start(Spec{Name: "late", Path: p.Path}); err == nil {
		t.Error("a stopped group still starts processes")
	}
}

func TestStopOneLeavesTheOthers(t *testing.T) {
	g := newGroup(t)
	gone, stays := run(t, g, "sleep", "1000"), run(t, g, "tail", "-f", "/dev/null")
	if err := g.StopOne("sleep"); err != nil {
		t.Fatal(err)
	}
	<-gone.Exited()
	if !stays.Alive() {
		t.Error("StopOne ended a process of another name")
	}
	if err := g.StopOne("sleep"); err == nil {
		t.Error("StopOne ended a process that had been ended")
	}
}

func TestEndFindsWhatAnotherCommandStarted(t *testing.T) {
	g := newGroup(t)
	p := run(t, g, "sleep", "1000")
	if ended, err := End(g.dir); err != nil || ended != 1 {
		t.Fatalf("End() = %d, %v", ended, err)
	}
	<-p.Exited()
	if ended, err := End(g.dir); err != nil || ended != 0 {
		t.Errorf("End() the second time = %d, %v", ended, err)
	}
	if ended, err := End(t.TempDir()); err != nil || ended != 0 {
		t.Errorf("End() where nothing was started = %d, %v", ended, err)
	}
}

func TestStartAgainStartsWhatAnotherCommandStarted(t *testing.T) {
	g := newGroup(t)
	stays := run(t, g, "tail", "-f", "/dev/null")
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Name: "again", Path: path, Args: []string{"1000"}, Env: []string{"WORD=told"}, Tier: 1, Ready: "http://127.0.0.1:1/readyz"}
	first, err := g.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := StartAgain(g.dir, "again"); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("StartAgain() of a process that runs: %v", err)
	}
	if err := EndOne(g.dir, "again"); err != nil {
		t.Fatal(err)
	}
	<-first.Exited()
	second, err := StartAgain(g.dir, "again")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec, second.spec()); diff != "" {
		t.Errorf("it was started as another one (-want +got):\n%s", diff)
	}
	if second.PID == first.PID || !second.Alive() || !stays.Alive() {
		t.Errorf("pid %d after %d, alive %t; the other process alive %t", second.PID, first.PID, second.Alive(), stays.Alive())
	}
	if ended, err := End(g.dir); err != nil || ended != 2 {
		t.Errorf("End() = %d, %v; the new process must be recorded", ended, err)
	}
	<-second.Exited()
}

func TestEndOneOfNoProcess(t *testing.T) {
	g := newGroup(t)
	if err := EndOne(g.dir, "sleep"); err == nil || !strings.Contains(err.Error(), "no dev cluster") {
		t.Errorf("EndOne() where nothing runs: %v", err)
	}
	run(t, g, "sleep", "1000")
	if err := EndOne(g.dir, "slepe"); err == nil || !strings.Contains(err.Error(), "only sleep") {
		t.Errorf("the error for an unknown name must list the known ones: %v", err)
	}
}

// TestAliveKnowsStrangers looks at a process whose command line is known to be there: its own.
func TestAliveKnowsStrangers(t *testing.T) {
	pid, path := os.Getpid(), os.Args[0]
	_, started, err := stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		record Record
		want   bool
	}{
		"the same process":   {Record{PID: pid, Started: started, Path: path}, true},
		"another start time": {Record{PID: pid, Started: started + 1, Path: path}, false},
		"another program":    {Record{PID: pid, Started: started, Path: "/bin/other"}, false},
		"no such process":    {Record{PID: 1 << 22, Started: started, Path: path}, false},
	} {
		if got := tt.record.Alive(); got != tt.want {
			t.Errorf("%s: alive %t, want %t", name, got, tt.want)
		}
	}
}

// TestAProcessIsAliveFromItsStart starts so many at once that the kernel is
// still giving some of them their command line.
func TestAProcessIsAliveFromItsStart(t *testing.T) {
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 250 {
				p, err := start(Spec{Name: "sleep", Path: path, Args: []string{"1000"}}, os.DevNull)
				if err != nil {
					t.Fatal(err)
				}
				alive := p.Alive()
				if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				<-p.Exited()
				if !alive {
					t.Fatal("a process that was just started is not alive")
				}
			}
		})
	}
}

func TestWaitReadyGivesUpWhenTheProcessEnds(t *testing.T) {
	p := run(t, newGroup(t), "ls", "/does/not/exist")
	err := p.WaitReady(t.Context(), time.Minute, func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("the error must quote the log of the process: %v", err)
	}
}

func TestWaitReadyTellsWhatItWaitedFor(t *testing.T) {
	p := run(t, newGroup(t), "sleep", "1000")
	err := p.WaitReady(t.Context(), 10*time.Millisecond, func(context.Context) error { return errors.New("no answer") })
	if err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("the error must quote the last check: %v", err)
	}
	if err := p.WaitReady(t.Context(), time.Minute, func(context.Context) error { return nil }); err != nil {
		t.Errorf("a process that is ready: %v", err)
	}
}

func TestGuardEndsWithAProcess(t *testing.T) {
	g := newGroup(t)
	p := run(t, g, "sleep", "1000")
	ctx, cancel := g.Guard(t.Context())
	defer cancel()
	if _, err := endAll([]Record{p.Record}); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !strings.Contains(err.Error(), "sleep ended") {
		t.Errorf("the cause must name the process: %v", err)
	}
}

func TestTailCutsAtALine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, []byte(strings.Repeat("long line\n", 1000)+"last\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := tail(name)
	if !strings.HasPrefix(got, "long line\n") || !strings.HasSuffix(got, "last\n") || len(got) > tailBytes {
		t.Errorf("tail() = %q", got)
	}
}
