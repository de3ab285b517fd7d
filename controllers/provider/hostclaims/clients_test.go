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

package hostclaims

import (
	"context"
	"errors"
	"os"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

var errBroken = errors.New("broken")

// sites are connections whose answer is given.
type sites struct {
	site    remote.Site
	problem *identity.Problem
	freed   []remote.User
	asked   bool
}

func (s *sites) Site(remote.User, identity.Ref) (remote.Site, *identity.Problem) {
	s.asked = true
	return s.site, s.problem
}

func (s *sites) Bind(remote.User, string) {}

func (s *sites) Source(string, func(context.Context, types.NamespacedName) []ctrl.Request) source.Source {
	return nil
}

func (s *sites) Release(user remote.User) { s.freed = append(s.freed, user) }

type served bool

func (s served) Available(context.Context) (bool, error) { return bool(s), nil }

func (s served) Started() bool { return bool(s) }

// TestHost finds the hosts of machines, in its own cluster and in another one.
func TestHost(t *testing.T) {
	tests := map[string]struct {
		change func(m *infrav1.Metal3Machine, r *Clients, s *sites)
		want   string // UID of the host; empty for none
		freed  bool
		// unasked is set if no connection is asked for.
		unasked bool
	}{
		"the host is where the record leads": {want: "far"},
		"while there is a problem, nothing is known": {change: func(_ *infrav1.Metal3Machine, _ *Clients, s *sites) {
			s.problem = &identity.Problem{Reason: "Unreachable"}
		}},
		"where the claim was not made, nothing is looked for": {change: func(_ *infrav1.Metal3Machine, _ *Clients, s *sites) {
			s.site.Target.Server = "https://other.example"
		}},
		"what was confirmed is followed": {want: "far", change: func(m *infrav1.Metal3Machine, _ *Clients, s *sites) {
			s.site.Target.Server = "https://other.example"
			m.Annotations[infrav1.ConfirmIdentityMoveAnnotation] = s.site.Target.Place()
		}},
		"a record that cannot be read leads nowhere": {change: func(m *infrav1.Metal3Machine, _ *Clients, _ *sites) {
			m.Annotations[infrav1.EffectiveIdentityAnnotation] = "?"
		}},
		"a record without a Machine opens no connection": {unasked: true, change: func(m *infrav1.Metal3Machine, _ *Clients, _ *sites) {
			m.OwnerReferences = nil
		}},
		"nor does one whose Machine has gone": {unasked: true, change: func(m *infrav1.Metal3Machine, _ *Clients, _ *sites) {
			m.OwnerReferences[0].Name = "gone"
		}},
		"without a record the host is here": {want: "near", change: func(m *infrav1.Metal3Machine, _ *Clients, _ *sites) {
			m.Annotations = nil
		}},
		"a cluster without claims has no hosts": {change: func(m *infrav1.Metal3Machine, r *Clients, _ *sites) {
			m.Annotations, r.Local = nil, served(false)
		}},
		"the connection of a machine that has gone is given up": {want: "far", freed: true, change: func(m *infrav1.Metal3Machine, _ *Clients, _ *sites) {
			if err := server.Client.Delete(context.Background(), m.DeepCopy()); err != nil {
				panic(err)
			}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m, r, s := hostOf(t)
			if tc.change != nil {
				tc.change(m, &r, s)
			}
			host, found, err := r.Host(t.Context(), m)
			expect.That(t, err == nil && found == (tc.want != "") && host.UID == tc.want, "host %q, found %v, error %v", host.UID, found, err)
			expect.That(t, !tc.unasked || !s.asked, "a connection was asked for")
			var freed []remote.User
			if tc.freed {
				freed = []remote.User{userOf(m)}
			}
			expect.Equal(t, freed, s.freed)
		})
	}
}

// hostOf is a machine with a host called near in its own namespace, and one called
// far where its record leads.
func hostOf(t *testing.T) (*infrav1.Metal3Machine, Clients, *sites) {
	t.Helper()
	here, there := server.Namespace(t), server.Namespace(t)
	m := &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: here, Name: "m-1"},
		Spec:       infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: "http://x/i", Checksum: ptr.To("abc")}},
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: here, Name: "a"}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "Metal3Cluster", Name: "a"}
	owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: here, Name: "m-1"}}
	owner.Spec.ClusterName, owner.Spec.Bootstrap.DataSecretName = "a", ptr.To("boot")
	owner.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: claims.MachineKind, Name: "m-1"}
	server.Create(t, cluster)
	server.Create(t, owner)
	m.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: owner.Name, UID: owner.UID,
	}}
	server.Create(t, m)
	target := identity.Target{Server: "https://hosts.example", Namespace: there}
	record := identity.NewRecord(claims.OwnerOf(m), identity.Ref{Secret: "hosts"}, target, "o-1")
	m.Annotations = record.Annotations()
	publish(t, client.ObjectKey{Namespace: here, Name: "m-1"}, "near", m, "")
	publish(t, client.ObjectKey{Namespace: there, Name: claims.RemoteName("m-1", "o-1")}, "far", m, "o-1")
	reader, err := server.NewClient(t.Context(), interceptor.Funcs{}, SetupIndexes, func(ctx context.Context, indexer client.FieldIndexer) error {
		return indexer.IndexField(ctx, &bmov1alpha1.HostClaim{}, remote.OriginIndex, func(o client.Object) []string {
			return []string{o.GetLabels()[infrav1.OriginKey]}
		})
	})
	expect.NoError(t, err)
	s := &sites{site: remote.NewSite(target, reader, reader)}
	return m, Clients{Client: reader, Local: served(true), Remote: s}, s
}

// publish makes a claim of the machine that has a host, and the facts of that.
func publish(t *testing.T, key client.ObjectKey, hostUID string, m *infrav1.Metal3Machine, origin string) {
	t.Helper()
	namespace, name := key.Namespace, key.Name
	claim := bound(func(c *bmov1alpha1.HostClaim) {
		c.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
		if origin != "" {
			c.Labels = map[string]string{infrav1.OriginKey: origin}
		}
		c.Spec.ConsumerRef = &corev1.ObjectReference{Kind: claims.MachineKind, Name: m.Name, UID: m.UID}
		c.Status.HardwareData = &bmov1alpha1.ObjectReference{Namespace: namespace, Name: name + infrav1.HardwareDataSuffix}
		for i := range c.Status.Conditions {
			c.Status.Conditions[i].Reason, c.Status.Conditions[i].LastTransitionTime = "Yes", metav1.Now()
		}
	})
	server.Create(t, claim)
	server.Create(t, &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name + infrav1.HardwareDataSuffix,
		Annotations:     map[string]string{infrav1.HostUIDAnnotation: hostUID, infrav1.HostNameAnnotation: hostUID},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "metal3.io/v1alpha1", Kind: claims.Kind, Name: name, UID: claim.UID}},
	}})
}

// TestClaimThatWasAdoptedAndMoved has the name of another machine, and names the UID that its own
// one had before the move.
func TestClaimThatWasAdoptedAndMoved(t *testing.T) {
	m, r, _ := hostOf(t)
	m.Annotations = nil
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: "m-1"}}
	expect.NoError(t, server.Client.Delete(t.Context(), claim))
	add := func(name, consumer string, controller types.UID) {
		server.Create(t, &bmov1alpha1.HostClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: claims.MachineKind, Name: consumer, UID: controller, Controller: ptr.To(true),
			}}},
			Spec: bmov1alpha1.HostClaimSpec{ConsumerRef: &corev1.ObjectReference{
				Kind: claims.MachineKind, Namespace: m.Namespace, Name: consumer, UID: "before-the-move",
			}},
		})
	}
	add("first-machine", "m-1", m.UID)
	add("another", "m-2", "m-2")
	add("forged", "m-2", m.UID) // names another machine
	found, err := r.own(m).Seen(t.Context())
	expect.That(t, err == nil && found != nil && found.Name == "first-machine", "found %v, error %v", found, err)
}

// TestAsked shows which identityRef counts for a machine without a record.
func TestAsked(t *testing.T) {
	mine, its := &infrav1.IdentityReference{Name: "m"}, &infrav1.IdentityReference{Name: "c"}
	cluster := &infrav1.Metal3Cluster{Spec: infrav1.Metal3ClusterSpec{IdentityRef: its}}
	for name, tc := range map[string]struct {
		own   *infrav1.IdentityReference
		infra *infrav1.Metal3Cluster
		want  *infrav1.IdentityReference
	}{
		"without a reference there is none":                   {infra: &infrav1.Metal3Cluster{}},
		"without a Metal3Cluster there is none":               {},
		"the Metal3Cluster's counts for machines without one": {infra: cluster, want: its},
		"the machine's own wins":                              {own: mine, infra: cluster, want: mine},
	} {
		t.Run(name, func(t *testing.T) {
			m := Machine{Now: &infrav1.Metal3Machine{Spec: infrav1.Metal3MachineSpec{IdentityRef: tc.own}}, Infra: tc.infra}
			expect.Equal(t, tc.want, m.asked())
		})
	}
}

// TestChoose shows which of several claims of one origin is the machine's.
func TestChoose(t *testing.T) {
	m := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m-1", UID: "uid-1"}}
	record := identity.NewRecord(claims.OwnerOf(m), identity.Ref{Secret: "hosts"}, identity.Target{Server: "https://x", Namespace: "a"}, "o-1")
	claim := func(name, origin, consumer string) bmov1alpha1.HostClaim {
		c := bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{infrav1.OriginKey: origin}}}
		c.Spec.ConsumerRef = &corev1.ObjectReference{Kind: claims.MachineKind, UID: "uid-1"}
		if consumer != "" {
			c.Spec.ConsumerRef.Name = consumer
			c.Spec.ConsumerRef.UID = "uid-of-its-double"
		}
		return c
	}
	for name, tc := range map[string]struct {
		claims []bmov1alpha1.HostClaim
		want   string
		rival  bool
	}{
		"there is none":                        {},
		"its own":                              {claims: []bmov1alpha1.HostClaim{claim("c", "o-1", "")}, want: "c"},
		"the first of several":                 {claims: []bmov1alpha1.HostClaim{claim("d", "o-1", ""), claim("c", "o-1", "")}, want: "c"},
		"none of another origin":               {claims: []bmov1alpha1.HostClaim{claim("c", "o-2", "")}},
		"not that of its double":               {claims: []bmov1alpha1.HostClaim{claim("c", "o-1", "m-1")}, rival: true},
		"its own beside that of its double":    {claims: []bmov1alpha1.HostClaim{claim("b", "o-1", "m-1"), claim("c", "o-1", "")}, want: "c", rival: true},
		"that of another origin is no rival's": {claims: []bmov1alpha1.HostClaim{claim("c", "o-2", "m-1")}},
	} {
		t.Run(name, func(t *testing.T) {
			reader := interceptor.NewClient(server.Client, interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, into client.ObjectList, _ ...client.ListOption) error {
				into.(*bmov1alpha1.HostClaimList).Items = tc.claims //nolint:forcetypeassert // nothing else is listed
				return nil
			}})
			held, rival, err := (&Client{machine: m, record: &record, client: reader}).find(t.Context())
			expect.NoError(t, err)
			got := ""
			if held != nil {
				got = held.Name
			}
			expect.That(t, got == tc.want && rival == tc.rival, "claim %q, rival %v", got, rival)
		})
	}
}
