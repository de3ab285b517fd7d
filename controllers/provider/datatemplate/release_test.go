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

package datatemplate

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

func TestHeld(t *testing.T) {
	tests := map[string]struct {
		change  func(*infrav1.Metal3DataClaim)
		machine bool // of the name that the claim gives
		same    bool // and of its UID
		want    bool
	}{
		"by its machine":                         {machine: true, same: true, want: true},
		"not by a machine that vanished":         {},
		"not by another machine of that name":    {machine: true},
		"not without the finalizer of a machine": {change: func(c *infrav1.Metal3DataClaim) { c.Finalizers = nil }, machine: true, same: true},
		"by the machine of its name where the reference was lost": {
			change: func(c *infrav1.Metal3DataClaim) { c.OwnerReferences = nil }, machine: true, want: true,
		},
		"not by a later machine of its name": {
			change: func(c *infrav1.Metal3DataClaim) {
				c.OwnerReferences, c.DeletionTimestamp = nil, &metav1.Time{Time: time.Unix(0, 0)}
			}, machine: true,
		},
		"not where neither reference nor machine are left": {change: func(c *infrav1.Metal3DataClaim) { c.OwnerReferences = nil }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := server.Namespace(t)
			machine := &infrav1.Metal3Machine{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"},
				Spec:       infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}},
			}
			if tc.machine {
				server.Create(t, machine)
			}
			claim := newClaim(func(c *infrav1.Metal3DataClaim) {
				c.Namespace, c.Finalizers = namespace, []string{infrav1.MachineFinalizer}
				if tc.same {
					c.OwnerReferences[0].UID = machine.UID
				}
			})
			if tc.change != nil {
				tc.change(claim)
			}
			held, err := (&Reconciler{Client: server.Client, Live: server.Client}).held(t.Context(), claim)
			if err != nil || held != tc.want {
				t.Errorf("held: %v, %v", held, err)
			}
		})
	}
}

// TestReleaseClaimStepByStep goes the way of a claim and its data, each step with
// what a fresh cache shows.
func TestReleaseClaimStepByStep(t *testing.T) {
	r := &Reconciler{Client: server.Client, Live: server.Client}
	claim := newClaim(func(c *infrav1.Metal3DataClaim) {
		c.Namespace, c.Finalizers = server.Namespace(t), []string{infrav1.DataClaimFinalizer, "test/holds"}
	})
	server.Create(t, claim)
	data := desiredData(types.NamespacedName{Namespace: claim.Namespace, Name: "nodes"}, infrav1.Metal3DataTemplateSpec{}, claim, 0)
	server.Create(t, data)
	expect.NoError(t, r.Client.Delete(t.Context(), claim))
	look := func() (*infrav1.Metal3DataClaim, *infrav1.Metal3Data) {
		t.Helper()
		c, d := &infrav1.Metal3DataClaim{}, &infrav1.Metal3Data{}
		for object, key := range map[client.Object]client.ObjectKey{c: client.ObjectKeyFromObject(claim), d: client.ObjectKeyFromObject(data)} {
			expect.NoError(t, r.Client.Get(t.Context(), key, object))
		}
		return c, d
	}
	held := func(claimHeld, dataHeld []string) {
		t.Helper()
		c, d := look()
		if diff := cmp.Diff([][]string{claimHeld, dataHeld}, [][]string{c.Finalizers, d.Finalizers}); diff != "" {
			t.Fatalf("finalizers of claim and data (-want +got):\n%s", diff)
		}
	}
	pass := func(c *infrav1.Metal3DataClaim, d *infrav1.Metal3Data) error {
		return r.releaseClaim(t.Context(), &scope{data: []infrav1.Metal3Data{*d}}, c)
	}

	before, alive := look()
	expect.NoError(t, pass(before, alive))
	held([]string{infrav1.DataClaimFinalizer, "test/holds"}, []string{infrav1.DataClaimFinalizer, infrav1.DataFinalizer})

	// A cache that knows of the deletion, but not of a later write.
	_, stale := look()
	stale.ResourceVersion = alive.ResourceVersion
	if err := pass(before, stale); !apierrors.IsConflict(err) {
		t.Fatalf("a conflict is no error: %v", err)
	}
	held([]string{infrav1.DataClaimFinalizer, "test/holds"}, []string{infrav1.DataClaimFinalizer, infrav1.DataFinalizer})

	_, dying := look()
	expect.NoError(t, pass(before, dying))
	held([]string{"test/holds"}, []string{infrav1.DataFinalizer})
}
