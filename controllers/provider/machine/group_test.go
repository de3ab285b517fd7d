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
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// group is a world with the machines of one control plane or MachineDeployment.
type group struct {
	*world

	// site is the namespace of the claims.
	site string
	// keeper is what the claims are reserved for, and controller what controls the Machines.
	keeper, controller metav1.OwnerReference
	label              string
}

// die fails a write, and all that follow, once the number of the write has come.
type die struct {
	at      int
	arrives bool
	writes  int
}

var errDead = errors.New("the manager is dead")

func (d *die) write(do func() error) error {
	d.writes++
	switch {
	case d.at == 0 || d.writes < d.at:
		return do()
	case d.writes == d.at && d.arrives:
		if err := do(); err != nil {
			return err
		}
	}
	return errDead
}

func (d *die) calls() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return d.write(func() error { return c.Create(ctx, o, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return d.write(func() error { return c.Apply(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return d.write(func() error { return c.Patch(ctx, o, p, options...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption,
		) error {
			return d.write(func() error { return c.SubResource(sub).Patch(ctx, o, p, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return d.write(func() error { return c.Delete(ctx, o, options...) })
		},
	}
}

// workers is a MachineDeployment of so many replicas, in its Cluster.
func workers(t *testing.T, d *die, replicas int32, change ...func(*cast)) *group {
	t.Helper()
	g := newGroup(t, d, change...)
	deployment := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "workers"},
		Spec:       clusterv1.MachineDeploymentSpec{ClusterName: "a", Replicas: &replicas},
	}
	g.create(deployment)
	g.label = "md-workers"
	g.keeper = metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment", Name: deployment.Name, UID: deployment.UID,
	}
	g.controller = metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: "workers-1", UID: "set", Controller: ptr.To(true)}
	return g
}

// controlPlane is a control plane of a kind that no provider of Cluster API's own has.
func controlPlane(t *testing.T, d *die, replicas int32, change ...func(*cast)) *group {
	t.Helper()
	g := newGroup(t, d, append(change, func(c *cast) {
		c.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "example.com", Kind: "OtherControlPlane", Name: "cp"}
		c.cluster.Status.ControlPlane = &clusterv1.ClusterControlPlaneStatus{DesiredReplicas: &replicas}
	})...)
	g.label = "cp-cp"
	g.keeper = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "OtherControlPlane", Name: "cp", UID: "cp-uid"}
	g.controller = g.keeper
	g.controller.Controller = ptr.To(true)
	return g
}

func newGroup(t *testing.T, d *die, change ...func(*cast)) *group {
	t.Helper()
	c := newCast(change...)
	identityRef := c.machine.Spec.IdentityRef
	c.owner, c.machine = nil, nil
	w := newWorld(t, d.calls(), c)
	w.KeepFor = time.Hour
	g := &group{world: w, site: w.namespace}
	if identityRef != nil {
		g.site = server.Namespace(t)
		w.HostClaims.Remote = siteIn(t, &server, g.site, d.calls())
	}
	g.create(&infrav1.Metal3MachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "template"},
		Spec: infrav1.Metal3MachineTemplateSpec{
			NodeReuse: ptr.To(true),
			Template:  infrav1.Metal3MachineTemplateResource{Spec: infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}, IdentityRef: identityRef}},
		},
	})
	return g
}

// add makes a machine of the group.
func (g *group) add(name string, change ...func(*cast)) {
	g.t.Helper()
	c := newCast(change...)
	c.owner.Name, c.owner.Spec.InfrastructureRef.Name = name, name
	c.owner.OwnerReferences = []metav1.OwnerReference{g.controller}
	c.owner.Finalizers = []string{"example.com/machine"}
	c.owner.Labels = map[string]string{clusterv1.ClusterNameLabel: "a"}
	if g.keeper.Kind == "MachineDeployment" {
		c.owner.Labels[clusterv1.MachineDeploymentNameLabel] = g.keeper.Name
	} else {
		c.owner.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	g.create(c.owner)
	c.machine.Name = name
	c.machine.OwnerReferences[0].Name, c.machine.OwnerReferences[0].UID = name, c.owner.UID
	c.machine.Annotations = map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation:      "template",
		clusterv1.TemplateClonedFromGroupKindAnnotation: claims.TemplateKind,
	}
	if g.site != g.namespace {
		withRemoteHost(c)
	}
	g.create(c.machine)
}

// pass reconciles machines, one after the other, so many times.
func (g *group) pass(times int, names ...string) {
	g.t.Helper()
	for range times {
		for _, name := range names {
			if _, err := g.Reconcile(g.t.Context(), request(g.namespace, name)); err != nil && !errors.Is(err, errDead) {
				g.t.Fatalf("reconcile %s: %v", name, err)
			}
		}
	}
}

// machineNamed reads a machine; nil if it is gone.
func (g *group) machineNamed(name string) *infrav1.Metal3Machine {
	g.t.Helper()
	m := &infrav1.Metal3Machine{}
	err := g.server.Client.Get(g.t.Context(), client.ObjectKey{Namespace: g.namespace, Name: name}, m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	expect.NoError(g.t, err)
	return m
}

// claimed is the claim that names the machine as its consumer; nil if none does.
func (g *group) claimed(name string) *bmov1alpha1.HostClaim {
	g.t.Helper()
	m := g.machineNamed(name)
	var mine *bmov1alpha1.HostClaim
	for _, claim := range claimsIn(g.t, g.server, g.site) {
		if m != nil && claims.ConsumerUID(&claim) == m.UID {
			if mine != nil {
				g.t.Fatalf("machine %s has two claims", name)
			}
			mine = &claim
		}
	}
	return mine
}

// status plays the hostclaim manager.
func (g *group) status(claim *bmov1alpha1.HostClaim, poweredOn bool, kinds map[string]bool) {
	g.t.Helper()
	before := claim.DeepCopy()
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-of-" + claim.Name}
	claim.Status.PoweredOn = poweredOn
	for kind, holds := range kinds {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: "No", ObservedGeneration: claim.Generation}
		if holds {
			c.Status, c.Reason = metav1.ConditionTrue, "Yes"
		}
		meta.SetStatusCondition(&claim.Status.Conditions, c)
	}
	expect.NoError(g.t, g.server.Client.Status().Patch(g.t.Context(), claim, client.MergeFrom(before)))
}

// run gives the machine a claim whose host runs.
func (g *group) run(name string) {
	g.t.Helper()
	g.pass(4, name)
	claim := g.claimed(name)
	if claim == nil {
		g.t.Fatalf("machine %s has no claim", name)
	}
	g.bind(claim)
	g.pass(3, name)
}

func (g *group) bind(claim *bmov1alpha1.HostClaim) {
	g.t.Helper()
	merge(g.t, claim, `{"metadata":{"finalizers":["`+infrav1.HostClaimFinalizer+`"]}}`)
	g.status(claim, true, map[string]bool{"Associated": true, "Synchronized": true, "Provisioned": true, "AvailableForProvisioning": false})
}

// rest reports that the hosts of all reserved claims are at rest.
func (g *group) rest() {
	g.t.Helper()
	for _, claim := range claimsIn(g.t, g.server, g.site) {
		if reservation.Holds(&claim) {
			g.status(&claim, false, map[string]bool{"Synchronized": true, "Provisioned": false, "AvailableForProvisioning": true})
		}
	}
}

// remove deletes a Machine and its Metal3Machine, as Cluster API does.
func (g *group) remove(name string) {
	g.t.Helper()
	for _, o := range []client.Object{read[clusterv1.Machine](g.world, name), g.machineNamed(name)} {
		expect.NoError(g.t, g.server.Client.Delete(g.t.Context(), o))
	}
}

// leave has m-1 run, and go: its claim is reserved, or deleted.
func (g *group) leave() (claim *bmov1alpha1.HostClaim) {
	g.t.Helper()
	g.add("m-1")
	g.run("m-1")
	claim = g.claimed("m-1")
	g.remove("m-1")
	g.pass(3, "m-1")
	return claim
}

// places are changes of a machine by the place of its hosts.
var places = map[string]func(*cast){"hosts in this cluster": func(*cast) {}, "hosts in another cluster": withRemoteHost}

// diesWithAnyWrite plays a story with a manager that dies with each of the writes that the story takes.
func diesWithAnyWrite(t *testing.T, name string, play func(t *testing.T, d *die, at int, arrives bool) (writes int)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		writes := play(t, &die{}, 0, false)
		for at := 1; at <= writes; at++ {
			for _, arrives := range []bool{true, false} {
				t.Run(fmt.Sprintf("write %d arrives %t", at, arrives), func(t *testing.T) { play(t, &die{}, at, arrives) })
			}
		}
		t.Logf("the story takes %d writes", writes)
	})
}

func (g *group) reason(name string) string {
	g.t.Helper()
	return capiconditions.GetReason(g.machineNamed(name), infrav1.AssociateBareMetalHostCondition)
}

// reserved names the reserved claims, and deleted those that are being deleted.
func (g *group) reserved() (reserved, deleted string) {
	g.t.Helper()
	var kept, gone []string
	for _, claim := range claimsIn(g.t, g.server, g.site) {
		switch {
		case !claim.DeletionTimestamp.IsZero():
			gone = append(gone, claim.Name)
		case reservation.Holds(&claim):
			kept = append(kept, claim.Name)
		}
	}
	return strings.Join(kept, " "), strings.Join(gone, " ")
}

// replace lets m-1 run, and plays its replacement by m-2 with a manager that dies with a write,
// 0 for none, and that another one follows. It returns how many writes that takes.
func (g *group) replace(d *die, at int, arrives bool) int {
	g.t.Helper()
	g.add("m-1")
	g.run("m-1")
	first := g.claimed("m-1")
	*d = die{at: at, arrives: arrives}
	g.remove("m-1")
	g.add("m-2")
	writes := 0
	for range 20 {
		g.pass(1, "m-1", "m-2")
		if writes += d.writes; d.writes >= d.at {
			d.at = 0
		}
		d.writes = 0
		g.rest()
		if g.machineNamed("m-1") == nil && g.claimed("m-2") != nil {
			break
		}
	}
	if adopted := g.claimed("m-2"); adopted == nil || adopted.UID != first.UID {
		g.t.Fatalf("machine m-2 has the claim %v, want %s", adopted, first.Name)
	}
	if g.machineNamed("m-1") != nil {
		g.t.Error("machine m-1 stays")
	}
	if n := len(claimsIn(g.t, g.server, g.site)); n != 1 {
		g.t.Errorf("%d claims, want 1", n)
	}
	return writes
}
