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
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// The stories of the module test show machines with remote claims over real connections.
// These tests show what is rare.

// withRemoteHost is a machine that asks for a host of another cluster.
func withRemoteHost(c *cast) { c.machine.Spec.IdentityRef = &infrav1.IdentityReference{Name: "hosts"} }

// siteIn is a connection to a namespace of an API server.
func siteIn(t *testing.T, server *apitest.Server, namespace string, calls interceptor.Funcs) *connections {
	t.Helper()
	reader, err := server.NewClient(t.Context(), calls, func(ctx context.Context, indexer client.FieldIndexer) error {
		return indexer.IndexField(ctx, &bmov1alpha1.HostClaim{}, remote.OriginIndex, func(o client.Object) []string {
			return []string{o.GetLabels()[infrav1.OriginKey]}
		})
	})
	expect.NoError(t, err)
	return &connections{site: remote.Site{
		Target: identity.Target{Server: "https://hosts.example", Namespace: namespace}, Client: reader, Live: reader,
	}}
}

// beyond is a world whose machine has its claim in another namespace, which stands
// for another cluster.
func beyond(t *testing.T, calls interceptor.Funcs, change ...func(*cast)) (*world, string) {
	t.Helper()
	there := server.Namespace(t)
	w := newWorld(t, interceptor.Funcs{}, newCast(append(change, withRemoteHost)...))
	w.HostClaims.Remote = siteIn(t, &server, there, calls)
	return w, there
}

// begin has the machine record where its claim will be, and make it.
func (w *world) begin() {
	w.t.Helper()
	for range 2 {
		if _, err := w.settle(); err != nil {
			w.t.Fatal(err)
		}
	}
}

func claimsIn(t *testing.T, server *apitest.Server, namespace string) []bmov1alpha1.HostClaim {
	t.Helper()
	var list bmov1alpha1.HostClaimList
	expect.NoError(t, server.Client.List(t.Context(), &list, client.InNamespace(namespace)))
	return list.Items
}

// TestTwoManagementClusters has two management clusters with equal names of
// everything ask one namespace of a third cluster for hosts.
func TestTwoManagementClusters(t *testing.T) {
	var second, hosts apitest.Server
	run := func(s *apitest.Server, then func()) {
		if code := s.Run(runs(then)); code != 0 {
			t.Fatalf("API server: %d", code)
		}
	}
	run(&second, func() { run(&hosts, func() { twoManagementClusters(t, &second, &hosts) }) })
}

// runs is something that takes place while an API server runs.
type runs func()

func (r runs) Run() int { r(); return 0 }

func twoManagementClusters(t *testing.T, second, hosts *apitest.Server) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "equal"}}
	there := hosts.Namespace(t)
	worlds := map[string]*world{}
	for name, s := range map[string]*apitest.Server{"first": &server, "second": second} {
		s.Create(t, namespace.DeepCopy())
		w := newWorldIn(t, s, namespace.Name, interceptor.Funcs{}, newCast(withRemoteHost))
		w.HostClaims.Remote = siteIn(t, hosts, there, interceptor.Funcs{})
		worlds[name] = w
	}
	uids := map[string]string{}
	for _, round := range []int{1, 2} {
		for name, w := range worlds {
			m, err := w.settle()
			if err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
			uids[name] = string(m.UID)
		}
	}
	claims := claimsIn(t, hosts, there)
	if len(claims) != 2 || claims[0].Spec.ConsumerRef.UID == claims[1].Spec.ConsumerRef.UID {
		t.Fatalf("claims are %v", claims)
	}
	w := worlds["first"]
	w.get(w.machine)
	expect.NoError(t, w.server.Client.Delete(t.Context(), w.machine))
	if m, err := w.settle(); m != nil || err != nil {
		t.Fatalf("machine is %v, error %v", m, err)
	}
	if _, err := worlds["second"].settle(); err != nil {
		t.Fatal(err)
	}
	if left := claimsIn(t, hosts, there); len(left) != 1 || string(left[0].Spec.ConsumerRef.UID) != uids["second"] {
		t.Errorf("claims left are %v, of %v", left, uids)
	}
}

// TestRecordBeforeClaim shows that nothing is written to another cluster before the
// machine names it.
func TestRecordBeforeClaim(t *testing.T) {
	t.Run("a machine that cannot be written claims nothing", func(t *testing.T) {
		w, there := beyond(t, interceptor.Funcs{})
		recording := false
		w.Client = w.through(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if o.GetAnnotations()[infrav1.OriginKey] != "" {
				recording = true
				return errBroken
			}
			return c.Patch(ctx, o, p, opts...)
		}})
		if _, err := w.settle(); err == nil || !recording {
			t.Errorf("error is %v, tried to record: %v", err, recording)
		}
		if claims := claimsIn(t, &server, there); len(claims) != 0 {
			t.Errorf("claims are %v", claims)
		}
	})
	t.Run("a machine that was changed meanwhile is looked at again", func(t *testing.T) {
		w, there := beyond(t, interceptor.Funcs{})
		once := false
		w.HostClaims.Remote.(*connections).site.Live = touching{w, &once} //nolint:forcetypeassert // see beyond
		w.Live = touching{w, &once}
		for range 2 { // finalizer, record
			if _, err := w.Reconcile(t.Context(), request(w.namespace, "m-1")); err != nil {
				t.Fatal(err)
			}
		}
		w.get(w.machine)
		if w.machine.Annotations[infrav1.OriginKey] != "" || !once {
			t.Errorf("the record was written over a change: %v", w.machine.Annotations)
		}
		if claims := claimsIn(t, &server, there); len(claims) != 0 {
			t.Errorf("claims are %v", claims)
		}
	})
	t.Run("a local claim that the cache does not show keeps the machine in its cluster", func(t *testing.T) {
		w, there := beyond(t, interceptor.Funcs{}, running)
		w.claimCache = w.through(blind())
		if _, err := w.settle(); err != nil {
			t.Fatal(err)
		}
		w.get(w.machine)
		if claims := claimsIn(t, &server, there); len(claims) != 0 || w.machine.Annotations[infrav1.OriginKey] != "" {
			t.Errorf("claims are %v, annotations %v", claims, w.machine.Annotations)
		}
	})
}

// touching changes the machine whenever something is read past the cache.
type touching struct {
	w    *world
	once *bool
}

func (o touching) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if !*o.once {
		*o.once = true
		m := o.w.machine.DeepCopy()
		if err := o.w.server.Client.Patch(ctx, m, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"x":"y"}}}`))); err != nil {
			return err
		}
	}
	return o.w.server.Client.Get(ctx, key, into, opts...)
}

func (o touching) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return o.w.server.Client.List(ctx, into, opts...)
}

// TestRemoteProblems shows what becomes of a machine whose claim cannot be used.
func TestRemoteProblems(t *testing.T) {
	tests := map[string]struct {
		answer    *identity.Problem
		change    func(*cast)
		condition string
		message   string
	}{
		"a problem of the connection is told": {
			answer:    &identity.Problem{Reason: "Unreachable", Message: "no answer"},
			condition: "IdentityReady/False/Unreachable", message: "no answer",
		},
		"it makes the machine unready": {
			answer:    &identity.Problem{Reason: "Unreachable", Message: "no answer"},
			condition: "Ready/False/Unreachable", message: "no answer",
		},
		"a first connection is waited for": {
			answer:    &identity.Problem{Reason: "Connecting", Message: "m"},
			condition: "IdentityReady/False/Connecting",
		},
		"what was known stands while the connection is made again": {
			answer: &identity.Problem{Reason: "Connecting", Message: "m"},
			change: func(c *cast) {
				c.machine.Status.Conditions = []metav1.Condition{{Type: "IdentityReady", Status: "True", Reason: "Connected", LastTransitionTime: noon}}
			},
			condition: "IdentityReady/True/Connected",
		},
		"a record that cannot be read holds everything": {
			change: func(c *cast) {
				metav1.SetMetaDataAnnotation(&c.machine.ObjectMeta, infrav1.EffectiveIdentityAnnotation, "?")
			},
			condition: "IdentityReady/False/InvalidEffectiveIdentity", message: infrav1.EffectiveIdentityAnnotation,
		},
		"a machine without a Machine waits for it": {
			change:    func(c *cast) { c.owner, c.machine.Finalizers = nil, []string{infrav1.MachineFinalizer} },
			condition: "AssociateBareMetalHost/False/WaitingForMetal3MachineOwnerRef",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			change := []func(*cast){}
			if tc.change != nil {
				change = append(change, tc.change)
			}
			w, there := beyond(t, interceptor.Funcs{}, change...)
			w.HostClaims.Remote.(*connections).problem = tc.answer //nolint:forcetypeassert // see beyond
			m, err := w.settle()
			if err != nil {
				t.Errorf("error is %v", err)
			}
			w.expect(m, tc.condition, tc.message)
			if claims := append(claimsIn(t, &server, there), claimsIn(t, &server, w.namespace)...); len(claims) != 0 {
				t.Errorf("claims are %v", claims)
			}
		})
	}
}

// TestRemoteDeletion shows what is looked at before a machine is let go.
func TestRemoteDeletion(t *testing.T) {
	// claimed settles a machine with a remote claim, which is held, and deletes it.
	claimed := func(t *testing.T) (*world, *bmov1alpha1.HostClaim) {
		t.Helper()
		w, there := beyond(t, interceptor.Funcs{})
		w.begin()
		claims := claimsIn(t, &server, there)
		if len(claims) != 1 {
			t.Fatalf("claims are %v", claims)
		}
		hold := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["`+infrav1.HostClaimFinalizer+`"]}}`))
		expect.NoError(t, server.Client.Patch(t.Context(), &claims[0], hold))
		expect.NoError(t, server.Client.Delete(t.Context(), w.machine))
		return w, &claims[0]
	}
	deleting := func(t *testing.T, w *world, claim *bmov1alpha1.HostClaim) {
		t.Helper()
		m, err := w.settle()
		if err != nil || m == nil {
			t.Fatalf("machine is %v, error %v", m, err)
		}
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil || claim.DeletionTimestamp == nil {
			t.Errorf("claim is not being deleted: %v", err)
		}
	}
	there := func(w *world) *connections { return w.HostClaims.Remote.(*connections) } //nolint:forcetypeassert // see beyond
	t.Run("a claim that the cache does not show is found and deleted", func(t *testing.T) {
		w, claim := claimed(t)
		there(w).site.Client = interceptor.NewClient(there(w).site.Client.(client.WithWatch), blind()) //nolint:forcetypeassert // see siteIn
		deleting(t, w, claim)
	})
	t.Run("a claim that has lost its label is found and deleted", func(t *testing.T) {
		w, claim := claimed(t)
		strip := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":null}}`))
		expect.NoError(t, server.Client.Patch(t.Context(), claim, strip))
		deleting(t, w, claim)
	})
	t.Run("a claim under another name is found by its origin", func(t *testing.T) {
		w, claim := claimed(t)
		other := claim.DeepCopy()
		other.ObjectMeta = metav1.ObjectMeta{Namespace: claim.Namespace, Name: "kept", Labels: claim.Labels, Finalizers: claim.Finalizers}
		server.Create(t, other)
		claim.Finalizers = nil
		drop := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		expect.NoError(t, errors.Join(server.Client.Patch(t.Context(), claim, drop), server.Client.Delete(t.Context(), claim)))
		deleting(t, w, other)
	})
	t.Run("a machine stays while the other cluster cannot be read", func(t *testing.T) {
		w, _ := claimed(t)
		there(w).site.Client = interceptor.NewClient(there(w).site.Client.(client.WithWatch), blind()) //nolint:forcetypeassert // see siteIn
		there(w).site.Live = interceptor.NewClient(server.Client, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errBroken
			},
		})
		m, err := w.settle()
		if err == nil || m == nil {
			t.Fatalf("machine is %v, error %v", m, err)
		}
		w.expect(m, "HostClaimReady/False/DeletionFailed", "cannot be read")
	})
}

// TestForgedRecordOpensNoConnection shows a machine without a Machine that carries our
// finalizer and a record of ours.
func TestForgedRecordOpensNoConnection(t *testing.T) {
	w, _ := beyond(t, interceptor.Funcs{}, func(c *cast) {
		c.machine.Finalizers, c.machine.OwnerReferences = []string{infrav1.MachineFinalizer}, nil
	})
	before := w.machine.DeepCopy()
	record := identity.NewRecord(claims.OwnerOf(w.machine), identity.Ref{Secret: "hosts"}, identity.Target{Server: "https://hosts.example", Namespace: "n"}, "o-1")
	w.machine.Annotations = record.Annotations()
	expect.NoError(t, server.Client.Patch(t.Context(), w.machine, patch.Locked(before)))
	m, err := w.settle()
	expect.NoError(t, err)
	w.expect(m, "AssociateBareMetalHost/False/WaitingForMetal3MachineOwnerRef", "")
	if c := w.HostClaims.Remote.(*connections); len(c.asked) != 0 || c.freed == 0 { //nolint:forcetypeassert // see beyond
		t.Errorf("asked for connections %v, gave up %d", c.asked, c.freed)
	}
}

// TestConflictsOfAnotherCluster has another cluster answer every write with a conflict.
func TestConflictsOfAnotherCluster(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "hostclaims"}, "c", errBroken)
	w, _ := beyond(t, interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
		return conflict
	}})
	for range 4 { // the first one writes the finalizer
		if _, err := w.Reconcile(t.Context(), request(w.namespace, "m-1")); err != nil {
			t.Fatal(err)
		}
	}
	if got := testutil.ToFloat64(w.Metrics.stale); got != 3 {
		t.Errorf("counted %v stale decisions", got)
	}
	w.get(w.machine)
	if c := w.machine.Status.Conditions; len(c) != 1 || c[0].Type != infrav1.IdentityReadyCondition || c[0].Status != metav1.ConditionTrue {
		t.Errorf("passes that decided on an old claim have reported %v, want the connection alone", c)
	}
}

// TestLocalClaimIsKept shows a machine whose Metal3Cluster got an identityRef after the
// machine had its server.
func TestLocalClaimIsKept(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running, withRemoteHost))
	m, err := w.settle()
	expect.NoError(t, err)
	w.expect(m, "IdentityReady/True/NotUsed", `Secret "hosts"`)
	w.expect(m, "Ready/True/Ready", `Secret "hosts"`)
	if c := w.HostClaims.Remote.(*connections); len(c.asked) != 0 { //nolint:forcetypeassert // see newWorld
		t.Errorf("asked for connections %v", c.asked)
	}
}

// TestUnserved shows machines in a cluster that serves no claims.
func TestUnserved(t *testing.T) {
	t.Run("one that asks for a host of it is told so", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast())
		w.HostClaims.Local = served(false)
		m, err := w.settle()
		expect.NoError(t, err)
		w.expect(m, "AssociateBareMetalHost/False/HostClaimAPIMissing", "identityRef")
		if woken := w.mapper().waitingForKinds(t.Context()); !slices.Contains(woken, request(w.namespace, "m-1")) {
			t.Errorf("woken by the kinds are %v", woken)
		}
	})
	t.Run("one whose hosts are in another cluster does not mind", func(t *testing.T) {
		w, there := beyond(t, interceptor.Funcs{})
		w.HostClaims.Local = served(false)
		w.begin()
		if claims := claimsIn(t, &server, there); len(claims) != 1 {
			t.Errorf("claims are %v", claims)
		}
	})
	t.Run("one that is deleted gives back its data and goes", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(deleted, withData))
		w.HostClaims.Local = served(false)
		if m, err := w.settle(); m != nil || err != nil {
			t.Fatalf("machine is %v, error %v", m, err)
		}
		if w.get(w.dataClaim); w.dataClaim.DeletionTimestamp == nil {
			t.Error("the data was not given back")
		}
	})
	t.Run("one that is paused is left alone", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.cluster.Spec.Paused = ptr.To(true) }))
		w.HostClaims.Local = served(false)
		m, err := w.settle()
		if err != nil || meta.FindStatusCondition(m.Status.Conditions, "AssociateBareMetalHost") != nil {
			t.Errorf("conditions are %v, error %v", m.Status.Conditions, err)
		}
	})
}

// TestForeignRemoteClaim shows that a claim of another origin, or without one, is never taken
// over, although no event reports its deletion.
func TestForeignRemoteClaim(t *testing.T) {
	tests := map[string]struct {
		origin string
		unseen bool
	}{
		"a claim without an origin is in no cache":                   {unseen: true},
		"a claim of another origin is looked at again":               {origin: "o-2"},
		"a claim of another origin that the cache does not show too": {origin: "o-2", unseen: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			recorded := false
			w, there := beyond(t, interceptor.Funcs{Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				if !recorded {
					return errBroken
				}
				return c.Apply(ctx, o, opts...)
			}})
			if _, err := w.settle(); err == nil {
				t.Fatal("the claim was made")
			}
			recorded = true
			w.get(w.machine)
			claim := claims.RemoteName("m-1", w.machine.Annotations[infrav1.OriginKey])
			foreign := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: claim}}
			if tc.origin != "" {
				foreign.Labels = map[string]string{infrav1.OriginKey: tc.origin}
			}
			server.Create(t, foreign)
			if tc.unseen {
				w.HostClaims.Remote.(*connections).site.Client = interceptor.NewClient( //nolint:forcetypeassert // see beyond
					w.HostClaims.Remote.(*connections).site.Client.(client.WithWatch), blind()) //nolint:forcetypeassert // see siteIn
			}
			m, err := w.settle()
			if err == nil {
				t.Error("the pass is not repeated")
			}
			w.expect(m, "AssociateBareMetalHost/False/HostClaimNameTaken", claim)
			if claims := claimsIn(t, &server, there); len(claims) != 1 || claims[0].Spec.ConsumerRef != nil {
				t.Errorf("claims are %v", claims)
			}
		})
	}
}

// TestAbandonment shows what is reported about a claim that is left behind.
func TestAbandonment(t *testing.T) {
	w, _ := beyond(t, interceptor.Funcs{})
	w.begin()
	w.get(w.machine)
	abandon := client.RawPatch("application/merge-patch+json", []byte(
		`{"metadata":{"annotations":{"`+infrav1.AbandonClaimAnnotation+`":"true","`+infrav1.HostAnnotation+`":"infra/h"}}}`))
	expect.NoError(t, errors.Join(server.Client.Patch(t.Context(), w.machine, abandon), server.Client.Delete(t.Context(), w.machine)))
	there := w.HostClaims.Remote.(*connections) //nolint:forcetypeassert // see beyond
	there.problem = &identity.Problem{Reason: "Connecting", Message: "m"}
	m, err := w.settle()
	if err != nil || m == nil || meta.FindStatusCondition(m.Status.Conditions, "HostClaimReady") != nil {
		t.Fatalf("before it is known whether the claim can be deleted, the machine is %v, error %v", m, err)
	}
	there.problem = &identity.Problem{Reason: "Unreachable", Message: "no answer"}
	recorder := events.NewFakeRecorder(10)
	w.Recorder = recorder
	if m, err := w.settle(); m != nil || err != nil {
		t.Fatalf("machine is %v, error %v", m, err)
	}
	close(recorder.Events)
	var said []string
	for e := range recorder.Events {
		said = append(said, e)
	}
	if strings.Contains(strings.Join(said, "\n"), "Released") {
		t.Errorf("events %v say that the host was given back", said)
	}
	for _, part := range []string{"Warning ClaimAbandoned", "m-1-", "https://hosts.example"} {
		if !strings.Contains(strings.Join(said, "\n"), part) {
			t.Errorf("events %v do not say %q", said, part)
		}
	}
}
