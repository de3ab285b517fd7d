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
	"slices"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// grace is what a process gets between SIGTERM and SIGKILL.
	grace = 10 * time.Second
	// killed is how long the kernel may take to end a killed process.
	killed = 10 * time.Second
	// look is how often an ending process, which need not be our child, is
	// looked at: Linux offers no event for strangers that needs no new system call.
	look = 20 * time.Millisecond
)

// End ends what the state folder records, tier by tier, and empties the record.
// Processes that are gone, or whose pid now belongs to another program, are left
// alone. It returns how many it had to end.
func End(dir string) (int, error) {
	records, err := Recorded(dir)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	ended, err := endAll(records)
	if err != nil {
		return ended, err
	}
	return ended, save(dir, nil)
}

// endAll ends the records of the highest tier together, then those below.
func endAll(records []Record) (int, error) {
	tiers := map[int][]Record{}
	for _, record := range records {
		if record.Alive() {
			tiers[record.Tier] = append(tiers[record.Tier], record)
		}
	}
	order := make([]int, 0, len(tiers))
	for tier := range tiers {
		order = append(order, tier)
	}
	slices.Sort(order)
	slices.Reverse(order)

	ended := 0
	var errs []error
	for _, tier := range order {
		errs = append(errs, endTier(tiers[tier]))
		ended += len(tiers[tier])
	}
	return ended, errors.Join(errs...)
}

// endTier asks all of them to end, then waits, then kills what is left.
func endTier(records []Record) error {
	var errs []error
	for _, record := range records {
		errs = append(errs, record.signal(syscall.SIGTERM))
	}
	if !gone(records, grace) {
		for _, record := range records {
			errs = append(errs, record.signal(syscall.SIGKILL))
		}
		if !gone(records, killed) {
			errs = append(errs, fmt.Errorf("%s does not end", records[0].Name))
		}
	}
	return errors.Join(errs...)
}

// gone waits until none of the records is alive. It does not listen to the
// caller's context: ending goes on after an interrupt.
func gone(records []Record, timeout time.Duration) bool {
	err := wait.PollUntilContextTimeout(context.Background(), look, timeout, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(records, Record.Alive), nil
	})
	return err == nil
}
