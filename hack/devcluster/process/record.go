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
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// recordFile lies in the state folder and lists what was started there.
const recordFile = "processes.json"

// Record identifies one started process among all on this machine.
type Record struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// Started is the kernel's start time in clock ticks since boot.
	Started uint64 `json:"started"`
	// Path is the executable, the first word of the command line.
	Path string `json:"path"`
	// Tier orders the end: higher tiers are ended before lower ones.
	Tier int `json:"tier"`
	// Args, Env and Ready are those of its Spec, to start it again.
	Args  []string `json:"args,omitempty"`
	Env   []string `json:"env,omitempty"`
	Ready string   `json:"ready,omitempty"`
}

func newRecord(spec Spec, pid int, started uint64) Record {
	return Record{
		Name: spec.Name, PID: pid, Started: started, Path: spec.Path, Tier: spec.Tier,
		Args: spec.Args, Env: spec.Env, Ready: spec.Ready,
	}
}

// spec is what the process was started from.
func (r Record) spec() Spec {
	return Spec{Name: r.Name, Path: r.Path, Args: r.Args, Env: r.Env, Tier: r.Tier, Ready: r.Ready}
}

// Alive reports whether the very process of this record still runs. A zombie does
// not count, nor does another process that was given the same pid.
func (r Record) Alive() bool {
	state, started, err := stat(r.PID)
	if err != nil || state == "Z" || state == "X" || started != r.Started {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", r.PID))
	if err != nil {
		return false
	}
	// Between the start and the first instruction of a program the kernel shows no command line.
	path, _, _ := strings.Cut(string(line), "\x00")
	return path == "" || path == r.Path
}

// ResidentBytes returns the memory that the process holds at this moment.
func (r Record) ResidentBytes() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in the status of pid %d", r.PID)
}

// signal sends sig to the process if it is still ours.
func (r Record) signal(sig syscall.Signal) error {
	if !r.Alive() {
		return nil
	}
	if err := syscall.Kill(r.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s (pid %d): %w", r.Name, r.PID, err)
	}
	return nil
}

// stat returns state and start time of a process. The second field, the
// program's name in parentheses, may hold blanks: fields count from its end.
func stat(pid int) (state string, started uint64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	end := strings.LastIndexByte(string(text), ')')
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("short stat line of pid %d", pid)
	}
	started, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], started, err
}

// Recorded returns the processes that the state folder has as started; none if there is no such
// folder.
func Recorded(dir string) ([]Record, error) {
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var records []Record
	if err := json.Unmarshal(text, &records); err != nil {
		return nil, fmt.Errorf("read %s: %w", recordFile, err)
	}
	return records, nil
}

// save replaces the record file as a whole, so that a reader never sees half.
func save(dir string, records []Record) error {
	text, err := json.MarshalIndent(records, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, recordFile)
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
