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

package program

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/report"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// InTurn measures one part after the other.
func InTurn(ctx context.Context, parts ...func(context.Context) error) error {
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Say tells whoever waits how far it is.
func Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

func wait(ctx context.Context, period time.Duration) error {
	select {
	case <-time.After(period):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WatchIdle notes how many passes the controllers of a manager make while nothing
// happens, of which there should be none.
func (r *Run) WatchIdle(ctx context.Context, m *site.Manager, period time.Duration, with string) error {
	before, err := m.Reconciles(ctx)
	if err != nil {
		return err
	}
	Say("idle for %s", period)
	if err := wait(ctx, period); err != nil {
		return err
	}
	after, err := m.Reconciles(ctx)
	r.Figures.Expect(fmt.Sprintf("reconciles in %s with %s", period, with), after-before, "", 0)
	return err
}

// AddRequests notes how many requests were made for each of something.
func AddRequests(figures *report.Report, name string, each map[string]float64, sum float64) {
	figures.Add("  "+name, sum, "")
	for _, request := range slices.Sorted(maps.Keys(each)) {
		figures.Add("    "+request, each[request], "")
	}
}
