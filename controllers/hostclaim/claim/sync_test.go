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
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// onlyClaim is what the API server says of one claim; nil when it is gone.
type onlyClaim struct {
	client.Reader
	claim *bmov1alpha1.HostClaim
	err   error
}

func (o onlyClaim) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	claim, ok := object.(*bmov1alpha1.HostClaim)
	switch {
	case o.err != nil:
		return o.err
	case o.claim == nil || !ok:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "hostclaims"}, key.Name)
	}
	o.claim.DeepCopyInto(claim)
	return nil
}

func TestHostIsToldOnlyWhatTheClaimSaysNow(t *testing.T) {
	broken := errors.New("no answer")
	tests := map[string]struct {
		live onlyClaim
		want error
	}{
		"the claim is as the cache has it": {onlyClaim{claim: newClaim(withImage)}, nil},
		"only its status differs":          {onlyClaim{claim: newClaim(withImage, recorded(metav1.ConditionTrue, "x", ""))}, nil},
		"kubectl has applied it": {onlyClaim{claim: newClaim(withImage, func(c *bmov1alpha1.HostClaim) {
			c.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
		})}, nil},
		"it asks for something else":         {onlyClaim{claim: newClaim()}, progress.ErrStale},
		"it is being deleted":                {onlyClaim{claim: newClaim(withImage, going)}, progress.ErrStale},
		"it is another one of the same name": {onlyClaim{claim: newClaim(withImage, func(c *bmov1alpha1.HostClaim) { c.UID = "other" })}, progress.ErrStale},
		"it was paused":                      {onlyClaim{claim: newClaim(withImage, func(c *bmov1alpha1.HostClaim) { c.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} })}, progress.ErrStale},
		"it is gone":                         {onlyClaim{}, progress.ErrStale},
		"it cannot be read":                  {onlyClaim{err: broken}, broken},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := confirm(t.Context(), tt.live, newClaim(withImage)); !errors.Is(err, tt.want) {
				t.Errorf("confirm() = %v, want %v", err, tt.want)
			}
		})
	}
}

// A decision that was stale is the fault of no request.
func TestMessageOfAHostThatWasNotWritten(t *testing.T) {
	tests := map[string]struct {
		given error
		want  string
	}{
		"a request failed":  {errors.New("no answer"), "A request to the API server did not succeed; it is tried again"},
		"the facts changed": {fmt.Errorf("confirm: %w", progress.ErrStale), "The claim or its host changed before the host was written; what is to be written is decided again"},
		"an admission policy denies it": {
			apierrors.NewInvalid(schema.GroupKind{}, "x", nil), "The API server refuses a request: an admission policy denies it, or the annotations of the " +
				"object would be longer than 256 KiB; the administrator of the cluster must permit it, or shorten them. It is tried again",
		},
		"the host was newer": {apierrors.NewConflict(schema.GroupResource{}, "x", nil), "The claim or its host changed before the host was written; what is to be written is decided again"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if out := unsynchronized(tt.given); !errors.Is(out.Err(), tt.given) || first(out).Message != tt.want {
				t.Errorf("says %q (%v), want %q", first(out).Message, out.Err(), tt.want)
			}
		})
	}
}

func TestClaimWithoutAnImageSaysSo(t *testing.T) {
	tests := map[string]struct {
		claim *bmov1alpha1.HostClaim
		host  *bmov1alpha1.BareMetalHost
		want  string
	}{
		"no image": {newClaim(), newHost("infra"), "No image asked for"},
		"no image of its owner yet": {
			newClaim(func(c *bmov1alpha1.HostClaim) {
				c.OwnerReferences = []metav1.OwnerReference{{Kind: "Metal3Machine", Name: "m-1", Controller: ptr.To(true)}}
			}), newHost("infra"), "Metal3Machine m-1 has not asked for an image yet, and says what it waits for",
		},
		"an image":                          {newClaim(withImage), newHost("infra"), "The state of the host is"},
		"an image that was taken back late": {newClaim(), newHost("infra", running), "The state of the host is"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := (&given{claim: tt.claim, host: tt.host, step: binding.Keep}).status(progress.Outcome{}, now)
			for _, kind := range []string{bmov1alpha1.ProvisionedCondition, bmov1alpha1.ReadyCondition} {
				c := meta.FindStatusCondition(status.Conditions, kind)
				if !strings.HasPrefix(c.Message, tt.want) || c.Reason != bmov1alpha1.NotProvisionedReason {
					t.Errorf("%s says %s: %q", kind, c.Reason, c.Message)
				}
			}
		})
	}
}

// A server that is switched off runs nothing, and the claim is as its owner wants it all the same.
func TestClaimThatIsSwitchedOffSaysSo(t *testing.T) {
	for _, on := range []bool{true, false} {
		host := newHost("infra", running, func(h *bmov1alpha1.BareMetalHost) { h.Status.PoweredOn = on })
		status := (&given{claim: newClaim(withImage), host: host, step: binding.Keep}).status(progress.Outcome{}, now)
		want := map[bool]string{true: bmov1alpha1.ProvisionedReason, false: infrav1.PoweredOffReason}[on]
		if c := meta.FindStatusCondition(status.Conditions, bmov1alpha1.ReadyCondition); c.Status != metav1.ConditionTrue || c.Reason != want {
			t.Errorf("power %t: Ready is %s, %s; want True, %s", on, c.Status, c.Reason, want)
		}
	}
}

// An image that is refused costs the pool a server, so the claim says so.
func TestClaimWithARefusedImageSaysWhatItCosts(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{URL: "no URL"} })
	wait := first(mayHave(claim, policy.Grant{Admitted: true}, nil))
	if wait.Reason != infrav1.ImageRefusedReason || !strings.Contains(wait.Message, "holds its server") {
		t.Errorf("says %s: %q", wait.Reason, wait.Message)
	}
}

// TestHostIsParkedOnlyIfTheClaimIsStillReserved: a host that is parked by mistake
// is wiped as soon as its claim, which asks for an image, is looked at again.
func TestHostIsParkedOnlyIfTheClaimIsStillReserved(t *testing.T) {
	reserved := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Labels = map[string]string{infrav1.NodeReuseLabel: "workers"}
		c.Annotations = map[string]string{infrav1.SkipCleaningAnnotation: "true"}
	})
	host := newHost(reserved.Namespace, running)
	s := &scope{
		claim: reserved, host: host,
		decision: policy.Evaluate(nil, policy.Namespace{Name: reserved.Namespace}, policy.OwnWithoutPolicy),
	}
	r := &synchronizer{live: onlyClaim{claim: newClaim(withImage)}, client: readOnly{}, clock: fixedClock{}}
	if done, out := r.synchronize(t.Context(), s); !errors.Is(out.Err(), progress.ErrStale) || done.host != host {
		t.Errorf("synchronize() = %v, want it to be refused since the claim was adopted", out.Err())
	}
}

// readOnly accepts no write and answers none.
type readOnly struct{ client.Client }

func (readOnly) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errors.New("written")
}

func TestProvisionedWhileAHostServesAnotherTurn(t *testing.T) {
	reserved := func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{infrav1.NodeReuseLabel: "workers"} }
	parked := func(h *bmov1alpha1.BareMetalHost) {
		h.Annotations = map[string]string{infrav1.ParkedAnnotation: "claim-uid"}
	}
	rebuilding := progress.Wait{Reason: infrav1.RebuildingReason, Message: "x"}
	tests := map[string]struct {
		given given
		want  string
	}{
		"rebuilding":                     {given{claim: newClaim(withImage), host: newHost("infra", inState(bmov1alpha1.StateDeprovisioning)), syncWait: rebuilding}, "False/Rebuilding"},
		"reserved":                       {given{claim: newClaim(reserved), host: newHost("infra")}, "False/Reserved"},
		"parked":                         {given{claim: newClaim(reserved), host: newHost("infra", running, parked)}, "False/Reserved"},
		"parked and adopted":             {given{claim: newClaim(withImage), host: newHost("infra", running, parked)}, "False/NotProvisioned"},
		"wiped for the claim":            {given{claim: newClaim(), host: newHost("infra", inState(bmov1alpha1.StateDeprovisioning))}, "False/Deprovisioning"},
		"a host that is wiped and fails": {given{claim: newClaim(withImage), host: newHost("infra", failed), syncWait: rebuilding}, "False/Error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.given.step = binding.Keep
			status := tt.given.status(progress.Outcome{}, now)
			if got := short(status)[bmov1alpha1.ProvisionedCondition]; got != tt.want {
				t.Errorf("Provisioned %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTokenThatIsTooLongIsNamedBesideAnImageThatIsIgnored(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: "https://images.example.com/other.raw"}
		c.Annotations = map[string]string{infrav1.RebuildAnnotation: strings.Repeat("x", 64)}
	})
	s := &scope{claim: claim, host: newHost("infra", running)}
	if _, out := (&synchronizer{}).desired(t.Context(), s, binding.Compare(claim, s.host, false)); out.Err() != nil || first(out).Reason != infrav1.InvalidRebuildAnnotationReason {
		t.Errorf("Synchronized has reason %s (%v)", first(out).Reason, out.Err())
	}
}

func TestServerThatIsOffSaysWhyNoImageIsWritten(t *testing.T) {
	told := func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = &bmov1alpha1.Image{URL: imageURL} }
	on := func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = true }
	tests := map[string]struct {
		host *bmov1alpha1.BareMetalHost
		want bool
	}{
		"off":                     {newHost("infra", told), true},
		"on":                      {newHost("infra", told, on), false},
		"off and told nothing":    {newHost("infra"), false},
		"off while it is written": {newHost("infra", told, inState(bmov1alpha1.StateProvisioning)), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := (&given{claim: newClaim(withImage), host: tt.host, step: binding.Keep}).status(progress.Outcome{}, now)
			c := meta.FindStatusCondition(status.Conditions, bmov1alpha1.ProvisionedCondition)
			if got := strings.Contains(c.Message, "poweredOn"); got != tt.want {
				t.Errorf("Provisioned says %q", c.Message)
			}
		})
	}
}

func TestWhatIsRefusedComesAfterWhatKeepsTheRest(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Annotations = map[string]string{bmov1alpha1.DetachedAnnotation: "", bmov1alpha1.RebootAnnotationPrefix: "x"}
	})
	tests := map[string]struct {
		before progress.Wait
		want   string
	}{
		"first of several":               {progress.Wait{}, infrav1.InvalidRebootAnnotationReason},
		"after a secret that is missing": {progress.Wait{Reason: "UserDataSecretSyncFailure"}, "UserDataSecretSyncFailure"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &pass{scope: scope{claim: claim, host: newHost("infra")}}
			p.at.step, p.syncWait = binding.Keep, tt.before
			out := refuse(t.Context(), p)
			status := statusOf(&p.scope, &p.results, out, now)
			if c := meta.FindStatusCondition(status.Conditions, bmov1alpha1.SynchronizedCondition); c.Reason != tt.want {
				t.Errorf("Synchronized has reason %s, want %s", c.Reason, tt.want)
			}
			if len(out.Waits()) != 2 {
				t.Errorf("waits %v, want both refusals", out.Waits())
			}
		})
	}
}

func TestReservationWakesTheClaimAtItsEnd(t *testing.T) {
	until := now.Add(7 * time.Minute)
	claim := binding.LimitReservation(newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Labels = map[string]string{infrav1.NodeReuseLabel: "workers"}
	}), until)
	r := &releaser{clock: fixedClock{}}
	_, out := r.expire(t.Context(), claim)
	result, err := out.Result(now)
	if err != nil || result.RequeueAfter != 7*time.Minute {
		t.Errorf("woken after %s (%v), want 7m", result.RequeueAfter, err)
	}
	claim.Spec.ConsumerRef = &corev1.ObjectReference{Name: "next"}
	if _, out := r.expire(t.Context(), claim); !out.Done() {
		t.Errorf("an adopted claim waits: %v", out.Waits())
	}
}

// A claim whose policy was revoked says that nothing new is written, and means it.
func TestRevokedClaimNeitherSwitchesNorRebootsItsServer(t *testing.T) {
	on := func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = true }
	rebooting := func(key string) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) { c.Annotations = map[string]string{key: ""} }
	}
	for name, claim := range map[string]*bmov1alpha1.HostClaim{
		"switched":          newClaim(withImage, on),
		"rebooted":          newClaim(withImage, rebooting("reboot.metal3.io")),
		"held off":          newClaim(withImage, rebooting("reboot.metal3.io/mine")),
		"let out of a hold": newClaim(withImage),
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{parts: &parts{
				synchronizer: synchronizer{client: readOnly{}, clock: fixedClock{}},
				rebooter:     rebooter{client: readOnly{}, clock: fixedClock{}},
			}, scope: scope{claim: claim, host: binding.Bind(newHost("infra", running), claim)}}
			p.host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
			p.host.Annotations[infrav1.RebuildAnnotation] = ""
			if name == "let out of a hold" {
				p.host.Annotations[infrav1.HeldRebootPrefix+"mine"] = ""
			}
			p.at.step = binding.Keep
			for _, step := range []step{synchronize, reboot} {
				if out := step(t.Context(), p); out.Err() != nil {
					t.Errorf("written: %v", out.Err())
				}
			}
			if p.syncWait.Reason != infrav1.PolicyRevokedReason {
				t.Errorf("waits for %q", p.syncWait)
			}
		})
	}
}

// A tenant that switches its server on and off all the time waits, also when the manager
// has restarted: what was done is noted on the host.
func TestPowerChangesAreLimited(t *testing.T) {
	s := &scope{
		claim: newClaim(withImage), host: newHost("tenant"),
		decision: policy.Evaluate(nil, policy.Namespace{Name: "tenant"}, policy.OwnWithoutPolicy),
	}
	for i := range binding.MaxPowerChanges {
		if out := waitForPower(s, now); !out.Done() {
			t.Fatalf("waits before change %d: %v", i, out.Waits())
		}
		s.host = binding.PowerChanged(s.host, now.Add(time.Duration(i-20)*time.Second))
	}
	result, err := waitForPower(s, now).Result(now)
	if err != nil || result.RequeueAfter != binding.PowerWindow-20*time.Second {
		t.Errorf("tried again after %s (%v)", result.RequeueAfter, err)
	}
	s.claim.Spec.PoweredOn = true
	restarted := &synchronizer{clock: fixedClock{}}
	host, out := restarted.desiredWithPower(t.Context(), s, binding.Frozen)
	if host.Spec.Online || first(out).Reason != infrav1.PowerChangesLimitedReason {
		t.Errorf("switched on: %t, %v", host.Spec.Online, out.Waits())
	}
	delete(s.host.Annotations, infrav1.PowerChangesAnnotation)
	if host, out := restarted.desiredWithPower(t.Context(), s, binding.Frozen); !host.Spec.Online || !out.Done() {
		t.Errorf("switched on: %t, %v", host.Spec.Online, out.Waits())
	}
}

// Each write that switches or reboots a server notes so on the host.
func TestPowerChangesAreNotedWithTheWrite(t *testing.T) {
	s := &scope{
		claim: newClaim(), host: newHost("tenant"),
		decision: policy.Evaluate(nil, policy.Namespace{Name: "tenant"}, policy.OwnWithoutPolicy),
	}
	s.claim.Spec.PoweredOn = true
	writes, noted := &lastWrite{}, now.UTC().Format(time.RFC3339)
	r := &synchronizer{client: writes, clock: fixedClock{}}
	done, out := r.synchronize(t.Context(), s)
	if err := out.Err(); err != nil || !writes.host.Spec.Online || writes.host.Annotations[infrav1.PowerChangesAnnotation] != noted {
		t.Errorf("switched on by %v (%v)", writes.host, err)
	}
	s.host, writes.host = done.host, bmov1alpha1.BareMetalHost{}
	s.host.Status.Provisioning.State = bmov1alpha1.StateExternallyProvisioned
	s.claim.Annotations = map[string]string{bmov1alpha1.RebootAnnotationPrefix + "/held": ""}
	rebooter := &rebooter{client: writes, clock: fixedClock{}}
	if _, out := rebooter.reboot(t.Context(), s); out.Err() != nil || writes.host.Annotations[infrav1.PowerChangesAnnotation] != noted+","+noted {
		t.Errorf("rebooted by %v (%v)", writes.host, out.Err())
	}
}

// lastWrite keeps the host that was written last.
type lastWrite struct {
	client.Client
	host bmov1alpha1.BareMetalHost
}

func (l *lastWrite) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	if host, ok := object.(*bmov1alpha1.BareMetalHost); ok {
		l.host = *host
	}
	return nil
}

// fixedClock stands still.
type fixedClock struct{}

func (fixedClock) Now() time.Time                  { return now }
func (fixedClock) Since(t time.Time) time.Duration { return now.Sub(t) }

// newer is an API server with a host that the cache does not show yet.
type newer struct {
	client.Reader

	host *bmov1alpha1.BareMetalHost
}

func (n newer) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	host, ok := object.(*bmov1alpha1.BareMetalHost)
	if !ok {
		return errors.New("not expected")
	}
	n.host.DeepCopyInto(host)
	return nil
}

// TestHostThatIsReadAgain is the one that was decided on, or none is written.
func TestHostThatIsReadAgain(t *testing.T) {
	claim := newClaim(withImage)
	owned := func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
		}
	}
	for name, tt := range map[string]struct {
		change func(*bmov1alpha1.BareMetalHost)
		stale  bool
	}{
		"its status was written":            {change: func(h *bmov1alpha1.BareMetalHost) { h.Status.PoweredOn = true }},
		"it is another claim's":             {change: func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.Name = "other" }, stale: true},
		"it was told something":             {change: func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = &bmov1alpha1.Image{URL: "http://x/2"} }, stale: true},
		"it has network data of its own":    {change: func(h *bmov1alpha1.BareMetalHost) { h.Spec.PreprovisioningNetworkDataName = "x" }, stale: true},
		"it is another one of that name":    {change: func(h *bmov1alpha1.BareMetalHost) { h.UID = "other" }, stale: true},
		"it is gone, and nobody has it yet": {change: func(h *bmov1alpha1.BareMetalHost) { *h = bmov1alpha1.BareMetalHost{} }, stale: true},
	} {
		t.Run(name, func(t *testing.T) {
			current := newHost("infra", owned)
			current.ResourceVersion = "2"
			tt.change(current)
			s := &scope{claim: claim, host: newHost("infra", owned)}
			err := (&synchronizer{live: newer{host: current}}).refresh(t.Context(), s)
			if errors.Is(err, progress.ErrStale) != tt.stale || (s.host.ResourceVersion == "2") == tt.stale {
				t.Errorf("refresh() = %v, and goes on with version %q", err, s.host.ResourceVersion)
			}
		})
	}
}
