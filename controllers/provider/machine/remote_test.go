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
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
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

// claimed is a world whose machine has recorded where its claim is, and made it.
func claimed(t *testing.T) (*world, *bmov1alpha1.HostClaim) {
	t.Helper()
	w, there := beyond(t, interceptor.Funcs{})
	w.settled()
	w.settled()
	return w, &claimsAre(t, there, 1)[0]
}

// claimsAre are the claims of a namespace, which must be so many.
func claimsAre(t *testing.T, namespace string, n int) []bmov1alpha1.HostClaim {
	t.Helper()
	claims := claimsIn(t, &server, namespace)
	if len(claims) != n {
		t.Fatalf("claims are %v, want %d", claims, n)
	}
	return claims
}

// forget has the connection show no claims.
func (c *connections) forget() {
	c.site.Client = interceptor.NewClient(c.site.Client.(client.WithWatch), blind()) //nolint:forcetypeassert // see siteIn
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
	for range 2 {
		for _, w := range worlds {
			w.settled()
		}
	}
	claims := claimsIn(t, hosts, there)
	if len(claims) != 2 || claims[0].Spec.ConsumerRef.UID == claims[1].Spec.ConsumerRef.UID {
		t.Fatalf("claims are %v", claims)
	}
	w := worlds["first"]
	w.get(w.machine)
	expect.NoError(t, w.server.Client.Delete(t.Context(), w.machine))
	w.goes()
	worlds["second"].settled()
	if left := claimsIn(t, hosts, there); len(left) != 1 || left[0].Spec.ConsumerRef.UID != worlds["second"].machine.UID {
		t.Errorf("claims left are %v", left)
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
		claimsAre(t, there, 0)
	})
	t.Run("a machine that was changed meanwhile is looked at again", func(t *testing.T) {
		w, there := beyond(t, interceptor.Funcs{})
		once := false
		w.there().site.Live = touching{w, &once}
		w.Live = touching{w, &once}
		for range 2 { // finalizer, record
			w.once()
		}
		w.get(w.machine)
		if w.machine.Annotations[infrav1.OriginKey] != "" || !once {
			t.Errorf("the record was written over a change: %v", w.machine.Annotations)
		}
		claimsAre(t, there, 0)
	})
	t.Run("a local claim that the cache does not show keeps the machine in its cluster", func(t *testing.T) {
		w, there := beyond(t, interceptor.Funcs{}, running)
		w.claimCache = w.through(blind())
		w.settled()
		claimsAre(t, there, 0)
		w.get(w.machine)
		expect.Equal(t, "", w.machine.Annotations[infrav1.OriginKey])
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

var (
	unreachable = identity.Problem{Reason: "Unreachable", Message: "no answer"}
	connecting  = identity.Problem{Reason: "Connecting", Message: "m"}
)

// TestRemoteProblems shows what becomes of a machine whose claim cannot be used.
func TestRemoteProblems(t *testing.T) {
	tests := map[string]struct {
		answer    *identity.Problem
		change    func(*cast)
		condition string
		message   string
	}{
		"a problem of the connection makes the machine unready": {
			answer: &unreachable, condition: "Ready/False/Unreachable", message: "no answer",
		},
		"a first connection is waited for": {answer: &connecting, condition: "IdentityReady/False/Connecting"},
		"what was known stands while the connection is made again": {
			answer: &connecting,
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
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, there := beyond(t, interceptor.Funcs{}, func(c *cast) {
				if tc.change != nil {
					tc.change(c)
				}
			})
			w.there().problem = tc.answer
			w.expect(w.settled(), tc.condition, tc.message)
			claimsAre(t, there, 0)
			claimsAre(t, w.namespace, 0)
		})
	}
}

// merge changes an object by a merge patch.
func merge(t *testing.T, o client.Object, content string) {
	t.Helper()
	expect.NoError(t, server.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(content))))
}

// TestRemoteDeletion shows what is looked at before a machine is let go.
func TestRemoteDeletion(t *testing.T) {
	// held deletes a machine with a remote claim, which is held.
	held := func(t *testing.T) (*world, *bmov1alpha1.HostClaim) {
		t.Helper()
		w, claim := claimed(t)
		merge(t, claim, `{"metadata":{"finalizers":["`+infrav1.HostClaimFinalizer+`"]}}`)
		expect.NoError(t, server.Client.Delete(t.Context(), w.machine))
		return w, claim
	}
	deleting := func(t *testing.T, w *world, claim *bmov1alpha1.HostClaim) {
		t.Helper()
		if w.settled() == nil {
			t.Fatal("the machine is gone")
		}
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil || claim.DeletionTimestamp == nil {
			t.Errorf("claim is not being deleted: %v", err)
		}
	}
	t.Run("a claim that the cache does not show is found and deleted", func(t *testing.T) {
		w, claim := held(t)
		w.there().forget()
		deleting(t, w, claim)
	})
	t.Run("a claim that has lost its label is found and deleted", func(t *testing.T) {
		w, claim := held(t)
		merge(t, claim, `{"metadata":{"labels":null}}`)
		deleting(t, w, claim)
	})
	t.Run("a claim under another name is found by its origin", func(t *testing.T) {
		w, claim := held(t)
		other := claim.DeepCopy()
		other.ObjectMeta = metav1.ObjectMeta{Namespace: claim.Namespace, Name: "kept", Labels: claim.Labels, Finalizers: claim.Finalizers}
		server.Create(t, other)
		merge(t, claim, `{"metadata":{"finalizers":null}}`)
		expect.NoError(t, server.Client.Delete(t.Context(), claim))
		deleting(t, w, other)
	})
	t.Run("a machine stays while the other cluster cannot be read", func(t *testing.T) {
		w, _ := held(t)
		w.there().forget()
		w.there().site.Live = interceptor.NewClient(server.Client, listsFail)
		w.expect(w.fails(), "HostClaimReady/False/DeletionFailed", "cannot be read")
	})
}

// TestForgedRecordOpensNoConnection shows a machine without a Machine that carries our
// finalizer and a record of ours.
func TestForgedRecordOpensNoConnection(t *testing.T) {
	w, _ := beyond(t, interceptor.Funcs{}, func(c *cast) {
		c.machine.Finalizers, c.machine.OwnerReferences = []string{infrav1.MachineFinalizer}, nil
	})
	record := identity.NewRecord(claims.OwnerOf(w.machine), identity.Ref{Secret: "hosts"}, identity.Target{Server: "https://hosts.example", Namespace: "n"}, "o-1")
	w.edit(w.machine, func() { w.machine.Annotations = record.Annotations() })
	w.expect(w.settled(), "AssociateBareMetalHost/False/WaitingForMetal3MachineOwnerRef", "")
	if c := w.there(); len(c.asked) != 0 || c.freed == 0 {
		t.Errorf("asked for connections %v, gave up %d", c.asked, c.freed)
	}
}

// TestConflictsOfAnotherCluster has another cluster answer every write with a conflict.
func TestConflictsOfAnotherCluster(t *testing.T) {
	w, _ := beyond(t, appliesFail(apierrors.NewConflict(schema.GroupResource{Resource: "hostclaims"}, "c", errBroken)))
	for range 4 { // the first one writes the finalizer
		w.once()
	}
	expect.Equal(t, 3, testutil.ToFloat64(w.Metrics.stale))
	w.get(w.machine)
	if c := w.machine.Status.Conditions; len(c) != 1 || c[0].Type != infrav1.IdentityReadyCondition || c[0].Status != metav1.ConditionTrue {
		t.Errorf("passes that decided on an old claim have reported %v, want the connection alone", c)
	}
}

// TestLocalClaimOpensNoConnection shows a machine whose Metal3Cluster got an identityRef after the
// machine had its server.
func TestLocalClaimOpensNoConnection(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running, withRemoteHost))
	w.expect(w.settled(), "IdentityReady/True/NotUsed", `Secret "hosts"`)
	expect.Equal(t, nil, w.there().asked)
}

// TestUnserved shows machines in a cluster that serves no claims.
func TestUnserved(t *testing.T) {
	t.Run("one that is deleted gives back its data and goes", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(deleted, withData))
		w.HostClaims.Local = served(false)
		w.goes()
		if w.get(w.dataClaim); w.dataClaim.DeletionTimestamp == nil {
			t.Error("the data was not given back")
		}
	})
	t.Run("one that is paused is left alone", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.cluster.Spec.Paused = ptr.To(true) }))
		w.HostClaims.Local = served(false)
		if c := w.settled().Status.Conditions; meta.FindStatusCondition(c, "AssociateBareMetalHost") != nil {
			t.Errorf("conditions are %v", c)
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
			w, there := beyond(t, appliesFail(errBroken))
			w.fails() // after it was recorded where the claim is to be
			w.HostClaims.Remote = siteIn(t, &server, there, interceptor.Funcs{})
			w.get(w.machine)
			claim := claims.RemoteName("m-1", w.machine.Annotations[infrav1.OriginKey])
			foreign := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: claim}}
			if tc.origin != "" {
				foreign.Labels = map[string]string{infrav1.OriginKey: tc.origin}
			}
			server.Create(t, foreign)
			if tc.unseen {
				w.there().forget()
			}
			w.expect(w.fails(), "AssociateBareMetalHost/False/HostClaimNameTaken", claim)
			if left := claimsAre(t, there, 1)[0]; left.Spec.ConsumerRef != nil {
				t.Errorf("claim is %v", left)
			}
		})
	}
}

// TestAbandonment shows that a machine leaves its claim behind only once it is known that the claim cannot be
// deleted, and does not report that its host was given back.
func TestAbandonment(t *testing.T) {
	w, _ := claimed(t)
	merge(t, w.machine, `{"metadata":{"annotations":{"`+infrav1.AbandonClaimAnnotation+`":"true","`+infrav1.HostAnnotation+`":"infra/h"}}}`)
	expect.NoError(t, server.Client.Delete(t.Context(), w.machine))
	w.there().problem = &connecting
	if m := w.settled(); m == nil || meta.FindStatusCondition(m.Status.Conditions, "HostClaimReady") != nil {
		t.Fatalf("before it is known whether the claim can be deleted, the machine is %v", m)
	}
	w.there().problem = &unreachable
	recorder := w.record()
	w.goes()
	if said := <-recorder.Events; !strings.HasPrefix(said, "Warning ClaimAbandoned") || len(recorder.Events) > 0 {
		t.Errorf("event %q, and %d more", said, len(recorder.Events))
	}
}
