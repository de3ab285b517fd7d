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

package machinetemplate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// disabled is a template whose machines are to have cleaning disabled.
func disabled(c *cast) {
	c.template.Spec.Template.Spec.AutomatedCleaningMode = infrav1.CleaningModeDisabled
}

func TestMachinesFollowTheCleaningModeOfTheirTemplate(t *testing.T) {
	machineHas := func(mode infrav1.CleaningMode) func(*cast) {
		return func(c *cast) { c.machines[0].Spec.AutomatedCleaningMode = mode }
	}
	const other, kept = infrav1.CleaningModeDisabled, infrav1.CleaningModeMetadata
	tests := map[string]struct {
		given  *cast
		filter string
		want   infrav1.CleaningMode
		writes []string
	}{
		"a machine without a mode":  {given: newCast(disabled), want: other, writes: []string{"patch", "status"}},
		"a machine of another mode": {given: newCast(disabled, machineHas(kept)), want: other, writes: []string{"patch", "status"}},
		"a machine that has it":     {given: newCast(disabled, machineHas(other)), want: other, writes: []string{"status"}},
		"a template without a mode": {given: newCast(machineHas(kept)), want: kept, writes: []string{"status"}},
		"a machine of another origin": {
			given: newCast(disabled, machineHas(kept), func(c *cast) { c.machines[0].Annotations = nil }), want: kept, writes: []string{"status"},
		},
		"a machine that is paused": {
			given: newCast(disabled, machineHas(kept), func(c *cast) { c.machines[0].Annotations[clusterv1.PausedAnnotation] = "" }),
			want:  kept, writes: []string{"status"},
		},
		"a template that is paused": {
			given: newCast(disabled, machineHas(kept), func(c *cast) { c.clusters[0].Spec.Paused = ptr.To(true) }),
			want:  kept, writes: []string{"status"},
		},
		"a machine that is being deleted, whose server may be kept": {
			given: newCast(disabled, machineHas(kept), func(c *cast) {
				c.machines[0].Finalizers, c.machines[0].DeletionTimestamp = []string{infrav1.MachineFinalizer}, &metav1.Time{Time: time.Now()}
			}), want: other, writes: []string{"patch", "status"},
		},
		"a machine that another provider watches": {
			given: newCast(disabled, machineHas(kept), func(c *cast) {
				c.template.Labels = map[string]string{clusterv1.WatchLabel: "mine"}
			}), filter: "mine", want: kept, writes: []string{"status"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var writes []string
			w := newWorld(t, apitest.Writes(&writes), test.given)
			w.WatchFilter = test.filter
			for range 2 {
				if _, err := w.pass(); err != nil {
					t.Fatal(err)
				}
			}
			if got := w.mode("m-1"); got != test.want || !slices.Equal(writes, test.writes) {
				t.Errorf("the mode is %q after %v, want %q after %v", got, writes, test.want, test.writes)
			}
		})
	}
}

// A template changes few machines in a pass, and the events of these have it change the next ones.
func TestMachinesAreChangedAFewAtATime(t *testing.T) {
	const machines = 2*maxWrites + 5
	var writes []string
	w := newWorld(t, apitest.Writes(&writes), newCast(disabled, func(c *cast) {
		c.machines = nil
		for i := range machines {
			c.machines = append(c.machines, madeFrom(t.Name(), fmt.Sprint("m-", i)))
			c.machines[i].Annotations[clusterv1.TemplateClonedFromNameAnnotation] = c.template.Name
		}
	}))
	for pass := range 3 {
		writes = nil
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
		patched := len(slices.DeleteFunc(writes, func(what string) bool { return what != "patch" }))
		if want := min(maxWrites, machines-pass*maxWrites); patched != want {
			t.Errorf("pass %d changed %d machines, want %d", pass, patched, want)
		}
	}
}

// mode reads the cleaning mode of a machine.
func (w *world) mode(machine string) infrav1.CleaningMode {
	w.t.Helper()
	m := &infrav1.Metal3Machine{}
	expect.NoError(w.t, api.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: machine}, m))
	return m.Spec.AutomatedCleaningMode
}

// A machine that cannot be written holds up no other, and neither does one whose server cannot be read. One that
// was written meanwhile is a conflict.
func TestMachinesWhoseCleaningModeCannotBeWritten(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "metal3machines"}, "m-1", nil)
	tests := map[string]struct {
		err, want error
		host      string
	}{
		"an error":                     {err: errBroken, want: errBroken},
		"a conflict":                   {err: conflict, want: conflict},
		"a machine that is gone":       {err: apierrors.NewNotFound(schema.GroupResource{}, "m-1")},
		"a server that cannot be read": {want: errBroken, host: "broken"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			calls := interceptor.Funcs{Patch: func(
				ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption,
			) error {
				if o.GetName() == "m-1" && test.err != nil {
					return test.err
				}
				return c.Patch(ctx, o, patch, options...)
			}}
			w := newWorld(t, calls, newCast(disabled, func(c *cast) {
				c.machines = append(c.machines, madeFrom(name, "m-2"))
				c.machines[1].Annotations[clusterv1.TemplateClonedFromNameAnnotation] = c.template.Name
				c.hosts["m-1"] = hardware.Host{Name: test.host}
			}))
			_, err := w.pass()
			if !errors.Is(err, test.want) {
				t.Errorf("error is %v, want %v", err, test.want)
			}
			if got := w.mode("m-2"); got != infrav1.CleaningModeDisabled {
				t.Errorf("the mode of the other machine is %q", got)
			}
		})
	}
}
