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
	"errors"
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
			r := &Reconciler{Live: &live{}, Pool: pool.New(), Clock: fixedClock{}}
			for _, host := range tt.hosts {
				r.Pool.Observe(host)
			}
			claim := newClaim(waiting, func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{infrav1.NodeReuseLabel: "group"} }, tt.edit)
			s := &scope{claim: claim}
			s.decision = policy.Evaluate(nil, policy.Namespace{Name: "tenant"}, policy.OwnWithoutPolicy)
			if err := r.bind(t.Context(), s); err != nil || s.waits.bind.Reason != tt.reason {
				t.Errorf("%q, %v; want %q", s.waits.bind.Reason, err, tt.reason)
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
			r := &Reconciler{Live: l, Pool: pool.New()}
			if err := r.resolve(t.Context(), &s, binding.Unread); err != nil {
				t.Fatal(err)
			}
			s.known.Candidate = tt.candidate
			if err := r.walk(t.Context(), &s); err != nil {
				t.Fatal(err)
			}
			if s.step != tt.want || l.count != tt.lists {
				t.Errorf("%s after %d lists, want %s after %d", s.step, l.count, tt.want, tt.lists)
			}
		})
	}
}

// held puts our finalizer on a claim.
func held(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{infrav1.HostClaimFinalizer} }

// noFacts answers that an object does not exist, and notes the status that is written.
type noFacts struct {
	client.Client
	told *bmov1alpha1.HostClaim
}

func (*noFacts) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (n *noFacts) Status() client.SubResourceWriter { return statusNoter{facts: n} }

type statusNoter struct {
	client.SubResourceWriter
	facts *noFacts
}

func (w statusNoter) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	claim, ok := object.(*bmov1alpha1.HostClaim)
	if !ok {
		return errors.New("not expected")
	}
	w.facts.told = claim.DeepCopy()
	return nil
}

// A tenant whose own finalizer holds a claim may write to it as often as it likes.
func TestClaimThatWasLetGoCostsNoMoreLists(t *testing.T) {
	claim := newClaim(going, waiting, func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{"tenant.example.com/mine"}
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: infrav1.HardwareDataPublishedCondition})
	})
	l, written := &live{}, &noFacts{}
	r := &Reconciler{Client: written, Live: l, Pool: pool.New(), Clock: fixedClock{}}
	held := func(want bool) {
		t.Helper()
		got, err := r.heldByOthers(t.Context(), &scope{claim: claim})
		if err != nil || got != want {
			t.Errorf("held by others: %t (%v), want %t", got, err, want)
		}
	}
	held(false)
	s := &scope{claim: claim}
	if err := r.reconcileDelete(t.Context(), s); err != nil || !s.finished || l.count != 1 {
		t.Fatalf("finished: %t after %d lists (%v)", s.finished, l.count, err)
	}
	claim = written.told // which only the manager can write
	held(true)
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
			r := &Reconciler{Live: l, Pool: pool.New()}
			s := &scope{claim: newClaim(going, recorded(metav1.ConditionTrue, "x", ""))}
			err := r.resolve(t.Context(), s, tt.recorded)
			if err != nil || s.step != binding.Finish || l.count != tt.reads {
				t.Errorf("%s after %d reads, %v; want %s after %d", s.step, l.count, err, binding.Finish, tt.reads)
			}
		})
	}
}
