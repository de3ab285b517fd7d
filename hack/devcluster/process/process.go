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
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// tailBytes is how much of a log an error message quotes.
const tailBytes = 1500

// Process is a started program that this group still watches.
type Process struct {
	Record
	LogFile string

	exited chan struct{}
	err    error
}

// Exited is closed when the process has ended, by whatever cause.
func (p *Process) Exited() <-chan struct{} {
	return p.exited
}

// Failure explains the end of a process: how it ended and its last words.
func (p *Process) Failure() error {
	how := "without an error"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s ended (%s); its log %s ends with:\n%s", p.Name, how, p.LogFile, tail(p.LogFile))
}

// WaitReady calls check until it succeeds. It gives up at once when the process
// ends, and quotes check's last error when time is up.
func (p *Process) WaitReady(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.exited:
			return false, p.Failure()
		default:
		}
		last = check(ctx)
		return last == nil, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s is not ready after %s: %w; its log is %s", p.Name, timeout, last, p.LogFile)
	}
	return err
}

func (p *Process) reap(cmd *exec.Cmd) {
	p.err = cmd.Wait()
	close(p.exited)
}

// tail returns the last lines of a log, or why it cannot be read.
func tail(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	if len(text) > tailBytes {
		text = text[len(text)-tailBytes:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	return string(text)
}
