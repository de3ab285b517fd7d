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

package manager

import (
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/utils/ptr"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// A change to a controller-runtime with a mended queue drops this with the
// option.
func TestManagersDoNotUseTheQueueThatBlocksAtShutdown(t *testing.T) {
	options, err := NewOptions().managerOptions()
	expect.NoError(t, err)
	expect.That(t, !ptr.Deref(options.Controller.UsePriorityQueue, true), "the priority queue is on; controller-runtime before v0.25 may not end with it")
}

// Profiles are served to any client that reaches the address.
func TestProfilesAreServedOnlyOnRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"by default nowhere":  {nil, ""},
		"where the flag says": {[]string{"--profiler-address=localhost:6060"}, "localhost:6060"},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
			o.AddFlags(fs)
			expect.NoError(t, fs.Parse(tc.args))
			options, err := o.managerOptions()
			expect.NoError(t, err)
			expect.Equal(t, tc.want, options.PprofBindAddress)
		})
	}
}

func TestLogsCanBeJSON(t *testing.T) {
	o := NewOptions()
	fs := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.AddFlags(fs)
	expect.NoError(t, fs.Parse([]string{"--logging-format=json"}))
	problems := logsv1.Validate(o.Logging, nil, nil)
	expect.That(t, len(problems) == 0, "%v", problems.ToAggregate())
}

// TestMainChecksItsFlags gives what no manager starts with, so that none is built.
func TestMainChecksItsFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"--unknown":     {"--unknown"},
		"--sync-period": {"--sync-period=-1s"},
	} {
		o := NewOptions()
		expect.Error(t, name, execute("manager", args, &o, nil))
	}
}

func TestRunNeedsACluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	expect.Error(t, "--kubeconfig", run(t.Context(), nil))
}
