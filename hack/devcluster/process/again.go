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
	"fmt"
	"slices"
	"strings"
)

// EndOne ends the process of that name which another command has started in the state
// folder. Its record stays, so that StartAgain finds it.
func EndOne(dir, name string) error {
	records, i, err := recorded(dir, name)
	if err != nil {
		return err
	}
	_, err = endAll(records[i : i+1])
	return err
}

// StartAgain starts a process that has ended, as another command has started it before,
// and records the new one in its place. Its log goes on in the same file. It returns an
// error if the process runs.
func StartAgain(dir, name string) (*Process, error) {
	records, i, err := recorded(dir, name)
	if err != nil {
		return nil, err
	}
	if records[i].Alive() {
		return nil, fmt.Errorf("%s runs already (pid %d)", name, records[i].PID)
	}
	p, err := start(records[i].spec(), logFile(dir, name))
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	records[i] = p.Record
	if err := save(dir, records); err != nil {
		return nil, fmt.Errorf("record %s: %w", name, err)
	}
	return p, nil
}

// recorded finds the record of a name. The error for an unknown name lists the known ones.
func recorded(dir, name string) ([]Record, int, error) {
	records, err := Recorded(dir)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(records, func(r Record) bool { return r.Name == name })
	if i >= 0 {
		return records, i, nil
	}
	if len(records) == 0 {
		return nil, 0, fmt.Errorf("no dev cluster runs in %s", dir)
	}
	var names []string
	for _, r := range records {
		names = append(names, r.Name)
	}
	return nil, 0, fmt.Errorf("the dev cluster has no process %q, only %s", name, strings.Join(names, ", "))
}
