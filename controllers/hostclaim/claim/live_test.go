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

package claim

import (
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
)

// live counts what is read of secrets and hosts past the cache.
type live struct {
	secrets map[string]string // user data by namespace/name
	broken  bool
	during  func() // happens while something is read
	count   int
}

func (l *live) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	l.count++
	if l.during != nil {
		l.during()
	}
	if l.broken {
		return apierrors.NewTimeoutError("no answer", 1)
	}
	value, found := l.secrets[key.String()]
	secret, ok := object.(*corev1.Secret)
	if !found || !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	secret.Data, secret.ResourceVersion = map[string][]byte{"userData": []byte(value)}, value
	return nil
}

func (l *live) List(context.Context, client.ObjectList, ...client.ListOption) error {
	l.count++
	return nil
}

// A claim that is kept for the next machine keeps a host, and takes none, though one is free: no
// machine would use it.
func TestReservedClaimWithoutAHostLooksForNone(t *testing.T) {
	for name, tt := range map[string]struct {
		edit   func(*bmov1alpha1.HostClaim)
		hosts  []*bmov1alpha1.BareMetalHost
		reason string
	}{
		"while no machine uses it": {func(*bmov1alpha1.HostClaim) {}, []*bmov1alpha1.BareMetalHost{newHost("tenant")}, "Reserved"},
		"and looks when a machine uses it": {
			func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef = &corev1.ObjectReference{Name: "machine"} }, nil, "NoNamespaceAdmits",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &binder{live: &live{}, pool: pool.New()}
			for _, host := range tt.hosts {
				r.pool.Observe(host)
			}
			claim := newClaim(waiting, func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{infrav1.NodeReuseLabel: "group"} }, tt.edit)
			s := &scope{claim: claim}
			s.decision = policy.Evaluate(nil, policy.Namespace{Name: "tenant"}, policy.OwnWithoutPolicy)
			at, err := r.settle(t.Context(), s, binding.Unread)
			if err != nil {
				t.Fatal(err)
			}
			_, out := r.choose(t.Context(), s, at)
			if reason := first(out).Reason; out.Err() != nil || reason != tt.reason {
				t.Errorf("%q, %v; want %q", reason, out.Err(), tt.reason)
			}
		})
	}
}

// A live list of all hosts is made only where it can prove something.
func TestHostsAreListedBeforeABindUnlessTheClaimIsNew(t *testing.T) {
	tests := map[string]struct {
		scope     scope
		candidate bool
		want      binding.Step
		lists     int
	}{
		"not while there is nothing to bind": {scope{claim: newClaim(waiting)}, false, binding.Choose, 0},
		"when the status was lost":           {scope{claim: newClaim(held)}, false, binding.Choose, 1},
		"before a bind":                      {scope{claim: newClaim(held)}, true, binding.Take, 1},
		"not for a new claim":                {scope{claim: newClaim()}, true, binding.Take, 0},
		"for one whose finalizer was taken":  {scope{claim: newClaim(waiting)}, true, binding.Take, 1},
		"not for a lost host": {
			scope{claim: newClaim(recorded(metav1.ConditionFalse, "x", ""))}, true, binding.ReportLost, 0,
		},
		"before the claim goes": {scope{claim: newClaim(going)}, false, binding.Finish, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l, s := &live{}, tt.scope
			r := &binder{live: l, pool: pool.New()}
			at, err := r.settle(t.Context(), &s, binding.Unread)
			if err != nil {
				t.Fatal(err)
			}
			at.known.Candidate = tt.candidate
			if at, err = r.walk(t.Context(), s.claim, at); err != nil {
				t.Fatal(err)
			}
			if at.step != tt.want || l.count != tt.lists {
				t.Errorf("%s after %d lists, want %s after %d", at.step, l.count, tt.want, tt.lists)
			}
		})
	}
}

// held puts our finalizer on a claim.
func held(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{infrav1.HostClaimFinalizer} }

// noFacts answers that an object does not exist.
type noFacts struct{ client.Client }

func (noFacts) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// A tenant whose own finalizer holds a claim may write to it as often as it likes.
func TestClaimThatWasLetGoCostsNoMoreLists(t *testing.T) {
	claim := newClaim(going, waiting, func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{"tenant.example.com/mine"}
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: infrav1.HardwareDataPublishedCondition})
	})
	r := &releaser{
		client: noFacts{}, live: onlyClaim{claim: claim}, publisher: &publisher{client: noFacts{}}, letGo: &letGo{},
	}
	held := func(want bool) {
		t.Helper()
		got, err := r.heldByOthers(t.Context(), &scope{claim: claim})
		if err != nil || got != want {
			t.Errorf("held by others: %t (%v), want %t", got, err, want)
		}
	}
	held(false) // a manager that has just started looks for what is left of the claim
	if gone, out := r.finish(t.Context(), claim, ""); !gone || out.Err() != nil {
		t.Fatalf("gone: %t, %v", gone, out.Err())
	}
	held(true)
	r.letGo.forget(keyOf(claim))
	held(false)
}

// The write that frees a host fences what a claim says of it: the host is not read again, and
// the list that the end of a claim needs is made all the same.
func TestFreedHostIsNotReadAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		recorded binding.RecordedHost
		reads    int
	}{
		"after it was freed":    {binding.Fenced, 1},
		"when it was not freed": {binding.Unread, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := &live{}
			r := &binder{live: l, pool: pool.New()}
			claim := newClaim(going, recorded(metav1.ConditionTrue, "x", ""))
			at, err := r.settle(t.Context(), &scope{claim: claim}, tt.recorded)
			if err != nil || at.step != binding.Finish || l.count != tt.reads {
				t.Errorf("%s after %d reads, %v; want %s after %d", at.step, l.count, err, binding.Finish, tt.reads)
			}
		})
	}
}
