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
	"fmt"
	"net/http"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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
	*secret = *copyOf(value)
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
			err := r.bind(t.Context(), s)
			expect.That(t, err == nil && s.waits.bind.Reason == tt.reason, "%q, %v; want %q", s.waits.bind.Reason, err, tt.reason)
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
			expect.NoError(t, r.resolve(t.Context(), &s, binding.Unread))
			s.known.Candidate = tt.candidate
			expect.NoError(t, r.walk(t.Context(), &s))
			expect.That(t, s.step == tt.want && l.count == tt.lists, "%s after %d lists, want %s after %d", s.step, l.count, tt.want, tt.lists)
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
		expect.That(t, err == nil && got == want, "held by others: %t (%v), want %t", got, err, want)
	}
	held(false)
	s := &scope{claim: claim}
	if err := r.reconcileDelete(t.Context(), s); err != nil || !s.finished || l.count != 1 {
		t.Fatalf("finished: %t after %d lists (%v)", s.finished, l.count, err)
	}
	claim = written.told // which only the manager can write
	held(true)
}

// The write that frees a host also fences the intent of its claim: the host is not read again,
// and the list that the end of a claim needs is made all the same.
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
			expect.That(t, err == nil && s.step == binding.Finish && l.count == tt.reads, "%s after %d reads, %v; want %s after %d", s.step, l.count, err, binding.Finish, tt.reads)
		})
	}
}

// A host that was made ready for a move is taken back only from a claim that the API server shows as not
// paused, and that clusterctl does not move: it may be in another cluster else.
func TestHostOfAMoveIsReleasedOnlyIfItsClaimIsNotPaused(t *testing.T) {
	scheme := runtime.NewScheme()
	expect.NoError(t, bmov1alpha1.AddToScheme(scheme))
	for name, paused := range map[string]bool{"not once it is paused again": true, "while it is not paused": false} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(held, going, withImage, recorded(metav1.ConditionTrue, "x", ""))
			host, err := binding.ReadyToMove(binding.Bind(newHost("tenant", running), claim), claim)
			expect.NoError(t, err)
			stored := claim.DeepCopy()
			if paused {
				metav1.SetMetaDataAnnotation(&stored.ObjectMeta, clusterv1.PausedAnnotation, "")
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored, host).Build()
			expect.NoError(t, errors.Join(c.Get(t.Context(), keyOf(claim), stored), c.Get(t.Context(), client.ObjectKeyFromObject(host), host)))
			claim.ResourceVersion = stored.ResourceVersion
			if paused {
				claim.Annotations = map[string]string{infrav1.BlockMoveAnnotation: infrav1.HostClaimManagerFieldOwner} // as the cache shows it
				claim.Annotations[infrav1.BoundClaimUIDAnnotation] = string(claim.UID)
			}
			r := &Reconciler{Client: c, Live: c, Pool: pool.New(), Clock: fixedClock{}}
			_, err = r.release(t.Context(), &scope{claim: claim, host: host.DeepCopy()})
			expect.That(t, patch.IsConflict(err) == paused && (err != nil) == paused, "release: %v", err)
			expect.NoError(t, errors.Join(c.Get(t.Context(), keyOf(claim), stored), c.Get(t.Context(), client.ObjectKeyFromObject(host), host)))
			expect.That(t, binding.Held(host) == paused && (host.Spec.Image != nil) == paused, "held %t, image %v", binding.Held(host), host.Spec.Image)
			_, blocked := stored.Annotations[infrav1.BlockMoveAnnotation]
			expect.That(t, blocked != paused, "block-move on the claim: %t", blocked)
		})
	}
}

func TestRefusal(t *testing.T) {
	host, quoted := schema.GroupResource{Resource: "baremetalhosts"}, errors.New("policy of team x")
	plain := func(text string) error { // as the API server passes on what it does not know
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: text}}
	}
	tests := map[string]struct {
		given error
		want  string // empty for no refusal
	}{
		"a policy forbids it":       {apierrors.NewForbidden(host, "x", quoted), "forbids it"},
		"a policy denies it":        {apierrors.NewInvalid(schema.GroupKind{Kind: "BareMetalHost"}, "x", nil), "denies it"},
		"it is no request":          {apierrors.NewBadRequest(quoted.Error()), "denies it"},
		"it is too long":            {apierrors.NewRequestEntityTooLargeError(quoted.Error()), "256 KiB"},
		"a webhook does not answer": {apierrors.NewInternalError(fmt.Errorf("failed calling webhook \"hostclaim.metal3.io\": %w", quoted)), "webhook hostclaim.metal3.io does not answer"},
		"one of another team does not answer": {
			apierrors.NewInternalError(fmt.Errorf("failed calling webhook \"guard.team-x.example.com\": %w", quoted)), "an admission webhook does not answer",
		},
		"it is too long for etcd": {plain("etcdserver: request is too large"), "too large"},
		"it fails inside":         {apierrors.NewInternalError(quoted), ""},
		"the object is newer":     {apierrors.NewConflict(host, "x", quoted), ""},
		"the object is gone":      {apierrors.NewNotFound(host, "x"), ""},
		"there was no answer":     {quoted, ""},
		"it took too long":        {apierrors.NewTimeoutError(quoted.Error(), 1), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := refusal(fmt.Errorf("make the host ready: %w", tt.given))
			expect.That(t, (got == "") == (tt.want == "") && strings.Contains(got, tt.want) && !strings.Contains(got, quoted.Error()), "refusal() = %q, want %q", got, tt.want)
		})
	}
}
