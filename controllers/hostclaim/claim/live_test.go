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
	secret.Data = map[string][]byte{"userData": []byte(value)}
	return nil
}

func (l *live) List(context.Context, client.ObjectList, ...client.ListOption) error {
	l.count++
	return nil
}

// unwatched is a watch on secrets that sees nothing.
type unwatched struct{}

func (unwatched) Ensure(string) {}

func (unwatched) Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, live.Get(ctx, key, secret)
}

func (unwatched) Release(string, func() (bool, error)) error { return nil }

func TestSecretsOfARunningClaimAreReadWhenOneHasChanged(t *testing.T) {
	l := &live{secrets: map[string]string{}}
	r := &synchronizer{live: l, secrets: unwatched{}, rotations: &rotations{}}
	claim := newClaim(withImage, func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = &corev1.SecretReference{Name: "boot"} })
	source, copied := "tenant/boot", "infra/"+binding.CopyName(claim.UID, binding.UserData)
	steps := []struct {
		when    string
		do      func()
		rotated bool
		reads   bool
	}{
		{"at first, without an answer", func() { l.broken = true }, false, true},
		{"as there was no answer", func() { l.broken, l.secrets[source], l.secrets[copied] = false, "a", "a" }, false, true},
		{"when nothing has happened", func() {}, false, false},
		{"when a secret has changed", func() { l.secrets[source] = "b"; r.rotations.forget(keyOf(claim)) }, true, true},
		{"when nothing has happened since", func() {}, true, false},
		{"when the claim names another secret", func() { claim.Spec.UserData.Name, claim.Generation = "gone", 4 }, false, true},
		{"when the claim is another one", func() { claim.UID = "other" }, false, true},
		{"when a secret changes while it is read", func() {
			r.rotations.forget(keyOf(claim))
			l.during = func() { r.rotations.forget(keyOf(claim)) }
		}, false, true},
		{"as that answer was too old", func() { l.during = nil }, false, true},
		{"when nothing has happened in the end", func() {}, false, false},
	}
	for _, step := range steps {
		step.do()
		before := l.count
		rotated := r.rotated(t.Context(), &scope{claim: claim, host: newHost("infra")})
		if rotated != step.rotated || (l.count > before) != step.reads {
			t.Errorf("%s: rotated %t after %d reads, want %t, reads %t", step.when, rotated, l.count-before, step.rotated, step.reads)
		}
	}
}

// A claim that is kept for the next machine keeps a host, and takes none: no
// machine would use it.
func TestReservedClaimWithoutAHostLooksForNone(t *testing.T) {
	for name, tt := range map[string]struct {
		edit   func(*bmov1alpha1.HostClaim)
		reason string
		reads  int
	}{
		"while no machine uses it": {func(*bmov1alpha1.HostClaim) {}, "Reserved", 0},
		"and looks when a machine uses it": {
			func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef = &corev1.ObjectReference{Name: "machine"} }, "NoNamespaceAdmits", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, free := &live{}, newHost("tenant")
			free.Status.Provisioning.State = bmov1alpha1.StateAvailable
			r := &binder{live: l, pool: pool.New()}
			r.pool.Observe(free)
			claim := newClaim(waiting, func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{infrav1.NodeReuseLabel: "group"} }, tt.edit)
			s := &scope{claim: claim}
			s.decision = policy.Evaluate(nil, policy.Namespace{Name: "tenant"}, policy.OwnWithoutPolicy)
			at, err := r.settle(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			_, out := r.choose(t.Context(), s, at)
			if reason := first(out).Reason; out.Err() != nil || reason != tt.reason || l.count != tt.reads {
				t.Errorf("%q after %d reads, %v; want %q after %d", reason, l.count, out.Err(), tt.reason, tt.reads)
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
			at, err := r.settle(t.Context(), &s)
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
	held := func(want bool, marked ...bmov1alpha1.BareMetalHost) {
		t.Helper()
		got, err := r.heldByOthers(t.Context(), &scope{claim: claim, marked: marked})
		if err != nil || got != want {
			t.Errorf("held by others: %t (%v), want %t", got, err, want)
		}
	}
	held(false) // a manager that has just started looks for what is left of the claim
	if gone, out := r.finish(t.Context(), claim); !gone || out.Err() != nil {
		t.Fatalf("gone: %t, %v", gone, out.Err())
	}
	held(true)
	held(false, *newHost("infra")) // a mark of the claim has come to light
	r.letGo.forget(keyOf(claim))
	held(false)
}
