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

package machine

import (
	"context"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// groups plays a story with each kind of keeper, and with hosts here and in another cluster.
func groups(t *testing.T, play func(t *testing.T, begin func(t *testing.T, d *die, replicas int32) *group)) {
	t.Helper()
	for name, begin := range map[string]func(*testing.T, *die, int32, ...func(*cast)) *group{"workers": workers, "control plane": controlPlane} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, d *die, replicas int32) *group { t.Helper(); return begin(t, d, replicas) })
		})
		t.Run(name+" with hosts in another cluster", func(t *testing.T) {
			play(t, func(t *testing.T, d *die, replicas int32) *group {
				t.Helper()
				return begin(t, d, replicas, withRemoteHost)
			})
		})
	}
}

// TestReuse shows what is written while the server of a machine goes over to the next one.
func TestReuse(t *testing.T) {
	groups(t, func(t *testing.T, begin func(*testing.T, *die, int32) *group) {
		t.Helper()
		g := begin(t, &die{}, 1)
		g.add("m-1")
		g.run("m-1")
		claim := g.claimed("m-1")
		g.remove("m-1")
		g.add("m-2")
		g.pass(3, "m-2")
		if got := g.reason("m-2"); got != infrav1.WaitingForReservedHostReason || g.claimed("m-2") != nil {
			t.Errorf("before the claim is reserved, m-2 says %s", got)
		}
		g.pass(3, "m-1", "m-2")
		g.expect(claim.Name, "")
		g.expectReserved(&claimsIn(t, g.server, g.site)[0])
		if g.machineNamed("m-1") == nil || g.reason("m-2") != infrav1.WaitingForReservedHostReason {
			t.Error("m-1 goes, or m-2 does not wait, before the host is at rest")
		}
		g.rest()
		g.pass(4, "m-1", "m-2")
		adopted := g.claimed("m-2")
		if g.machineNamed("m-1") != nil || adopted == nil || adopted.UID != claim.UID {
			t.Fatalf("m-2 has %v", adopted)
		}
		g.run("m-2")
		if adopted = g.claimed("m-2"); adopted.Labels[infrav1.NodeReuseLabel] != "" ||
			adopted.Annotations[infrav1.ReservedByAnnotation] != "" || adopted.Annotations[infrav1.ReservedUntilAnnotation] != "" {
			t.Errorf("adopted claim: %+v", adopted.ObjectMeta)
		}
	})
}

func (g *group) expectReserved(claim *bmov1alpha1.HostClaim) {
	g.t.Helper()
	if claim.Labels[infrav1.NodeReuseLabel] != g.label {
		g.t.Errorf("labels %v, want %s", claim.Labels, g.label)
	}
	if until := claim.Annotations[infrav1.ReservedUntilAnnotation]; until != noon.Add(time.Hour).UTC().Format(time.RFC3339) {
		g.t.Errorf("reserved until %s", until)
	}
	if claim.Spec.CustomDeploy != nil || claim.Spec.Image != nil || claim.Spec.UserData != nil || claim.Spec.PoweredOn {
		g.t.Errorf("the claim still asks for %+v", claim.Spec)
	}
	if g.site != g.namespace {
		var copies corev1.SecretList
		if err := g.server.Client.List(g.t.Context(), &copies, client.InNamespace(g.site)); err != nil || len(copies.Items) > 0 {
			g.t.Errorf("%d copies of Secrets stay, %v", len(copies.Items), err)
		}
		if claim.Labels[infrav1.OriginKey] != string(g.keeper.UID) || len(claim.OwnerReferences) > 0 {
			g.t.Errorf("reserved claim: %+v", claim.ObjectMeta)
		}
	} else {
		expect.Equal(g.t, []metav1.OwnerReference{g.keeper}, claim.OwnerReferences)
	}
}

// TestReuseSurvivesAManagerThatDiesWithAnyWrite plays the replacement with a manager that dies
// with each of its writes, before it arrives and after.
func TestReuseSurvivesAManagerThatDiesWithAnyWrite(t *testing.T) {
	keepers := map[string]func(*testing.T, *die, int32, ...func(*cast)) *group{"hosts in this cluster": workers, "hosts in another cluster": controlPlane}
	for name, change := range places {
		diesWithAnyWrite(t, name, func(t *testing.T, d *die, at int, arrives bool) int {
			t.Helper()
			return keepers[name](t, d, 1, change).replace(d, at, arrives)
		})
	}
}

// expect compares the names of the claims that are reserved, and of those being deleted.
func (g *group) expect(reserved, deleted string) {
	g.t.Helper()
	if kept, gone := g.reserved(); kept != reserved || gone != deleted {
		g.t.Errorf("reserved are %q and deleted %q, want %q and %q", kept, gone, reserved, deleted)
	}
}

// TestNotReserved shows when the claim of a machine is deleted as ever.
func TestNotReserved(t *testing.T) {
	deletes := func(g *group, o client.Object) {
		g.edit(o, func() { o.SetFinalizers([]string{"example.com/x"}) })
		expect.NoError(g.t, g.server.Client.Delete(g.t.Context(), o))
	}
	template := func(g *group) *infrav1.Metal3MachineTemplate {
		return read[infrav1.Metal3MachineTemplate](g.world, "template")
	}
	deployment := func(g *group) *clusterv1.MachineDeployment {
		return read[clusterv1.MachineDeployment](g.world, "workers")
	}
	owner := func(g *group) *clusterv1.Machine { return read[clusterv1.Machine](g.world, "m-1") }
	tests := map[string]func(g *group){
		"nodeReuse was switched off": func(g *group) { o := template(g); g.edit(o, func() { o.Spec.NodeReuse = ptr.To(false) }) },
		"the template is gone":       func(g *group) { expect.NoError(g.t, g.server.Client.Delete(g.t.Context(), template(g))) },
		"the group shrinks":          func(g *group) { o := deployment(g); g.edit(o, func() { o.Spec.Replicas = ptr.To[int32](0) }) },
		"the deployment is of another Cluster": func(g *group) {
			o := deployment(g)
			g.edit(o, func() { o.Spec.ClusterName = "b" })
		},
		"the deployment is being deleted": func(g *group) { deletes(g, deployment(g)) },
		"the Cluster is being deleted":    func(g *group) { deletes(g, g.cluster) },
		"the MachineSet has no deployment": func(g *group) {
			o := owner(g)
			g.edit(o, func() { delete(o.Labels, clusterv1.MachineDeploymentNameLabel) })
		},
		"the Machine has no controller": func(g *group) { o := owner(g); g.edit(o, func() { o.OwnerReferences = nil }) },
		"a health check has given the Machine up": func(g *group) {
			o := owner(g)
			before := o.DeepCopy()
			capiconditions.Set(o, metav1.Condition{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse, Reason: "x"})
			expect.NoError(g.t, g.server.Client.Status().Patch(g.t.Context(), o, client.MergeFrom(before)))
		},
		"the claim is marked as unhealthy": func(g *group) {
			o := g.claimed("m-1")
			g.edit(o, func() { metav1.SetMetaDataAnnotation(&o.ObjectMeta, infrav1.UnhealthyClaimAnnotation, "true") })
		},
		"the next machine has a server": func(g *group) {
			g.add("m-2")
			g.run("m-2")
		},
	}
	for name, given := range tests {
		t.Run(name, func(t *testing.T) {
			g := workers(t, &die{}, 1)
			g.add("m-1")
			g.run("m-1")
			claim := g.claimed("m-1").Name
			given(g)
			g.remove("m-1")
			g.pass(3, "m-1")
			g.expect("", claim)
		})
	}
}

// TestControlPlaneThatIsNotTheOneOfTheCluster shows that a Machine of another object than the
// Cluster names reserves nothing, whatever its labels say.
func TestControlPlaneThatIsNotTheOneOfTheCluster(t *testing.T) {
	g := controlPlane(t, &die{}, 1)
	g.controller.Name = "other"
	g.leave()
	g.expect("", "m-1")
}

// TestLetGo shows that a machine which asks for other servers lets those go that are reserved,
// and asks the pool at once.
func TestLetGo(t *testing.T) {
	groups(t, func(t *testing.T, begin func(*testing.T, *die, int32) *group) {
		t.Helper()
		g := begin(t, &die{}, 1)
		claim := g.leave().Name
		g.expect(claim, "")
		g.add("m-2", func(c *cast) {
			c.machine.Spec.HostSelector = &infrav1.HostSelector{MatchLabels: map[string]string{"rack": "2"}}
		})
		g.pass(4, "m-2")
		g.expect("", claim)
		if g.claimed("m-2") == nil {
			t.Error("m-2 has no claim")
		}
		if g.machineNamed("m-1") == nil {
			t.Error("m-1 is gone although its server may still run")
		}
	})
}

// TestReservationsEndWithTheirCluster shows that the machines of a Cluster which is being deleted
// let the claims go that are reserved for them, and wait for their hosts.
func TestReservationsEndWithTheirCluster(t *testing.T) {
	groups(t, func(t *testing.T, begin func(*testing.T, *die, int32) *group) {
		t.Helper()
		g := begin(t, &die{}, 1)
		claim := g.leave().Name
		g.expect(claim, "")
		g.edit(g.cluster, func() { g.cluster.Finalizers = []string{"example.com/x"} })
		expect.NoError(t, g.server.Client.Delete(t.Context(), g.cluster))
		g.pass(2, "m-1")
		g.expect("", claim)
		if g.machineNamed("m-1") == nil {
			t.Error("m-1 is gone although its server may still run")
		}
	})
}

// TestAdoptersNeverShare lets two machines decide on the same state, of which only one can get
// the server that is at rest; the other one waits for the one that is not.
func TestAdoptersNeverShare(t *testing.T) {
	groups(t, func(t *testing.T, begin func(*testing.T, *die, int32) *group) {
		t.Helper()
		g := begin(t, &die{}, 2)
		for _, name := range []string{"m-1", "m-2"} {
			g.add(name)
			g.run(name)
		}
		fast := g.claimed("m-2").UID
		for _, name := range []string{"m-1", "m-2"} {
			g.remove(name)
			g.pass(3, name)
		}
		for _, claim := range claimsIn(t, g.server, g.site) {
			if claim.UID == fast {
				g.status(&claim, false, map[string]bool{"Synchronized": true, "AvailableForProvisioning": true})
			}
		}
		g.add("m-3")
		g.add("m-4")
		g.pass(5, "m-3", "m-4")
		if got := g.claimed("m-3"); got == nil || got.UID != fast {
			t.Fatalf("m-3 has %v, want the server that is at rest", got)
		}
		if got := g.reason("m-4"); g.claimed("m-4") != nil || got != infrav1.WaitingForReservedHostReason {
			t.Errorf("m-4 says %s", got)
		}
		g.rest()
		g.pass(5, "m-4", "m-1", "m-2")
		if got := g.claimed("m-4"); got == nil || got.UID == fast || len(claimsIn(t, g.server, g.site)) != 2 {
			t.Errorf("m-4 has %v", got)
		}
	})
}

// TestAdoptionIsLocked has another machine adopt a claim between the decision of a machine and
// its write.
func TestAdoptionIsLocked(t *testing.T) {
	g := workers(t, &die{}, 1)
	g.leave()
	g.rest()
	g.add("m-2")
	g.pass(1, "m-2")
	raced := false
	g.Client = g.through(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if claim, ok := o.(*bmov1alpha1.HostClaim); ok && !raced {
				raced = true
				rival := claimsIn(g.t, g.server, g.site)[0]
				g.edit(&rival, func() {
					rival.Spec.ConsumerRef = claim.Spec.ConsumerRef.DeepCopy()
					rival.Spec.ConsumerRef.UID = "rival"
				})
			}
			return c.Patch(ctx, o, p, options...)
		},
	})
	g.pass(2, "m-2")
	if all := claimsIn(t, g.server, g.site); !raced || claims.ConsumerUID(&all[0]) != "rival" {
		t.Errorf("the claim has the consumer %v", all[0].Spec.ConsumerRef)
	}
}

// TestForgedReservation shows that a label and the name of a deployment let no machine adopt a claim.
func TestForgedReservation(t *testing.T) {
	g := workers(t, &die{}, 1)
	for name, owner := range map[string]metav1.OwnerReference{
		"by-name":  {APIVersion: g.keeper.APIVersion, Kind: g.keeper.Kind, Name: g.keeper.Name, UID: "another"},
		"by-label": {APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"},
	} {
		claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{infrav1.NodeReuseLabel: g.label, clusterv1.ClusterNameLabel: "a"},
		}}
		g.create(claim)
		g.bind(claim)
	}
	g.rest()
	g.add("m-1")
	g.run("m-1")
	if got := g.claimed("m-1"); got.Name != "m-1" {
		t.Errorf("m-1 has adopted %s", got.Name)
	}
	g.expect("by-label by-name", "")
}

// TestLeaverOnOldFactsDeletesNoClaimOfAnother has a machine let its claim go that another one
// has adopted meanwhile, under the same UID.
func TestLeaverOnOldFactsDeletesNoClaimOfAnother(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running))
	w.get(w.claim)
	seen := w.claim.DeepCopy()
	w.edit(w.claim, func() { w.claim.Spec.ConsumerRef.Name, w.claim.Spec.ConsumerRef.UID = "m-2", "uid-2" })
	w.HostClaims.Client, w.HostClaims.Live = w.Client, w.Live
	at, _, err := w.HostClaims.For(t.Context(), hostclaims.Machine{Now: w.machine})
	expect.NoError(t, err)
	if err := at.Delete(t.Context(), seen); !apierrors.IsConflict(err) {
		t.Errorf("the error is %v, want a conflict", err)
	}
	if w.get(w.claim); !w.claim.DeletionTimestamp.IsZero() {
		t.Error("the claim of another machine is deleted")
	}
}
