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

package remediation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/remediations"
)

// TestAnnounce shows what events and metrics tell of a pass.
func TestAnnounce(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	rebooted := remediations.Plan{Ready: true, Reason: infrav1.RebootedReason, Progress: remediations.Progress{Since: now.Add(-40 * time.Second)}}
	tests := map[string]struct {
		done   []remediations.Step
		plan   *remediations.Plan
		ready  bool // before the pass
		failed bool // to write what the pass found out
		told   []string
		// counted are reboots begun, machines handed back and reboots measured.
		counted [3]int
	}{
		"waiting is no event": {done: []remediations.Step{remediations.NoStep}, plan: &remediations.Plan{}},
		"a reboot begins": {
			done: []remediations.Step{remediations.PowerOff}, plan: &remediations.Plan{},
			told: []string{"Normal PoweringOff The server is switched off"}, counted: [3]int{1, 0, 0},
		},
		"a Node is evacuated and the server let go": {
			done: []remediations.Step{remediations.TaintNode, remediations.PowerOn}, plan: &remediations.Plan{},
			told: []string{"Normal NodeOutOfService The Node is declared out of service", "Normal PoweringOn The server is switched on"},
		},
		"a reboot ends": {
			done: []remediations.Step{remediations.UntaintNode}, plan: &rebooted,
			told: []string{"Normal NodeRestored The Node has back what it had", "Normal Rebooted The server was rebooted"}, counted: [3]int{0, 0, 1},
		},
		"the end of a reboot is told once":           {plan: &rebooted, ready: true},
		"the end of a reboot is told once it stands": {plan: &rebooted, failed: true},
		"steps are told though the status could not be written": {
			done: []remediations.Step{remediations.HandBack}, plan: &remediations.Plan{}, failed: true,
			told:    []string{"Warning HandedBack Rebooting did not help: the owner of the Machine is to replace it"},
			counted: [3]int{0, 1, 0},
		},
		"a pass that failed tells its steps": {
			done: []remediations.Step{remediations.PowerOff},
			told: []string{"Normal PoweringOff The server is switched off"}, counted: [3]int{1, 0, 0},
		},
		"what is left out is a warning": {
			plan: &remediations.Plan{Skipped: "the workload cluster does not answer"},
			told: []string{"Warning EvacuationSkipped the workload cluster does not answer"},
		},
		"what is left behind is a warning": {
			plan: &remediations.Plan{Left: "the Node has the taint"},
			told: []string{"Warning NodeNotRestored The remediation ends, although the Node has the taint"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			registry, recorder := prometheus.NewRegistry(), events.NewFakeRecorder(10)
			metrics, err := NewMetrics(registry)
			if err != nil {
				t.Fatal(err)
			}
			s := &scope{remediation: &infrav1.Metal3Remediation{}, before: &infrav1.Metal3Remediation{}, done: tc.done}
			if tc.ready {
				s.before.Status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue}}
			}
			r := &Reconciler{Recorder: recorder, Metrics: metrics, Clock: clocktesting.NewFakePassiveClock(now)}
			r.announce(t.Context(), s, tc.plan, !tc.failed)
			close(recorder.Events)
			var told []string
			for event := range recorder.Events {
				told = append(told, event)
			}
			if diff := cmp.Diff(tc.told, told); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			counted := [3]int{int(testutil.ToFloat64(metrics.reboots)), int(testutil.ToFloat64(metrics.handedBack)), observations(t, registry)}
			if diff := cmp.Diff(tc.counted, counted); diff != "" {
				t.Errorf("reboots, machines handed back, reboots measured (-want +got):\n%s", diff)
			}
		})
	}
}

// observations is how many reboots were measured; one took 40 seconds.
func observations(t *testing.T, registry *prometheus.Registry) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if strings.HasSuffix(family.GetName(), "_reboot_seconds") {
			measured := family.GetMetric()[0].GetHistogram()
			if count := measured.GetSampleCount(); count > 0 && measured.GetSampleSum() != 40 {
				t.Errorf("%d reboots took %v seconds", count, measured.GetSampleSum())
			}
			return int(measured.GetSampleCount())
		}
	}
	t.Error("reboots are not measured")
	return 0
}
