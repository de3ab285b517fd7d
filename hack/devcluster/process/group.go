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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Spec is the program to start.
type Spec struct {
	Name string
	Path string
	Args []string
	// Env is added to the environment of the caller.
	Env []string
	// Tier orders the end, see Record.
	Tier int
	// Ready is a URL that answers 200 when the process is ready; empty if it has none.
	Ready string
}

// Group holds the processes that belong to one state folder. It may be used by
// several goroutines.
type Group struct {
	dir string

	mu        sync.Mutex
	processes []*Process
	stopped   bool
}

// NewGroup prepares the state folder and drops the logs in it. Processes that an
// earlier group left running there must have been ended before, see End.
func NewGroup(dir string) (*Group, error) {
	if err := os.RemoveAll(filepath.Join(dir, "logs")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		return nil, err
	}
	return &Group{dir: dir}, nil
}

// Start starts one process and records it before anything else happens to it.
func (g *Group) Start(spec Spec) (*Process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return nil, fmt.Errorf("start %s: the dev cluster is being stopped", spec.Name)
	}
	p, err := start(spec, g.LogFile(spec.Name))
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	g.processes = append(g.processes, p)
	if err := save(g.dir, g.records()); err != nil {
		return nil, fmt.Errorf("record %s: %w", spec.Name, err)
	}
	return p, nil
}

// Stop ends every process of the group and waits for it. Later starts fail.
func (g *Group) Stop() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	if _, err := endAll(g.records()); err != nil {
		return err
	}
	g.processes = nil
	return save(g.dir, nil)
}

// StopOne ends one process by name, so that a test can take a part away and
// start it again.
func (g *Group) StopOne(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.processes, func(p *Process) bool { return p.Name == name })
	if i < 0 {
		return fmt.Errorf("no process named %s was started", name)
	}
	if _, err := endAll([]Record{g.processes[i].Record}); err != nil {
		return err
	}
	g.processes = slices.Delete(g.processes, i, i+1)
	return save(g.dir, g.records())
}

// Guard returns a context that also ends when any process of the group does,
// with the last words of that process as its cause.
func (g *Group) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	guarded, cancel := context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.processes {
		go func() {
			select {
			case <-p.exited:
				cancel(p.Failure())
			case <-guarded.Done():
			}
		}()
	}
	return guarded, func() { cancel(context.Canceled) }
}

// LogFile returns where the process of that name writes its output.
func (g *Group) LogFile(name string) string {
	return logFile(g.dir, name)
}

func logFile(dir, name string) string {
	return filepath.Join(dir, "logs", name+".log")
}

func (g *Group) records() []Record {
	records := make([]Record, 0, len(g.processes))
	for _, p := range g.processes {
		records = append(records, p.Record)
	}
	return records
}

func start(spec Spec, logFile string) (*Process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, started, err := stat(cmd.Process.Pid)
	if err != nil {
		// Without its start time it could not be ended later.
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	p := &Process{
		Record:  newRecord(spec, cmd.Process.Pid, started),
		LogFile: logFile,
		exited:  make(chan struct{}),
	}
	go p.reap(cmd)
	return p, nil
}
