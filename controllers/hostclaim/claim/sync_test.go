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
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/policies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// onlyClaim is an API server with one claim; nil when it is gone.
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

// What counts as the same, TestSameInputs of baremetal/binding tells.
func TestHostIsToldOnlyWhatTheClaimSaysNow(t *testing.T) {
	broken, conflict := errors.New("no answer"), patch.Conflict("any")
	tests := map[string]struct {
		live onlyClaim
		want error
	}{
		"the claim is as the cache has it": {onlyClaim{claim: newClaim(withImage)}, nil},
		"it asks for something else":       {onlyClaim{claim: newClaim()}, conflict},
		"it is gone":                       {onlyClaim{}, conflict},
		"it cannot be read":                {onlyClaim{err: broken}, broken},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := (&Reconciler{Live: tt.live}).confirm(t.Context(), newClaim(withImage)); !errors.Is(err, tt.want) && (!patch.IsConflict(err) || !patch.IsConflict(tt.want)) {
				t.Errorf("confirm() = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestMessageOfAHostThatWasNotWritten(t *testing.T) {
	tests := map[string]struct {
		given error
		want  string
	}{
		"a request failed": {errors.New("no answer"), "A request to the API server did not succeed; it is tried again"},
		"an admission policy denies it": {
			apierrors.NewInvalid(schema.GroupKind{}, "x", nil), "The API server refuses a request: an admission policy denies it, or the annotations of the " +
				"object would be longer than 256 KiB; the administrator of the cluster must permit it, or shorten them. It is tried again",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scope{}
			err := s.unsynchronized(tt.given)
			expect.That(t, errors.Is(err, tt.given) && s.waits.sync.Message == tt.want, "says %q (%v), want %q", s.waits.sync.Message, err, tt.want)
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
			status := (&given{claim: tt.claim, host: tt.host, step: binding.Keep}).status(true, now)
			for _, kind := range []string{bmov1alpha1.ProvisionedCondition, bmov1alpha1.ReadyCondition} {
				c := meta.FindStatusCondition(status.Conditions, kind)
				expect.That(t, strings.HasPrefix(c.Message, tt.want) && c.Reason == bmov1alpha1.NotProvisionedReason, "%s says %s: %q", kind, c.Reason, c.Message)
			}
		})
	}
}

// A server that is switched off runs nothing, and the claim is as its owner wants it all the same.
func TestClaimThatIsSwitchedOffSaysSo(t *testing.T) {
	for _, on := range []bool{true, false} {
		host := newHost("infra", running, func(h *bmov1alpha1.BareMetalHost) { h.Status.PoweredOn = on })
		status := (&given{claim: newClaim(withImage), host: host, step: binding.Keep}).status(true, now)
		want := map[bool]string{true: bmov1alpha1.ProvisionedReason, false: infrav1.PoweredOffReason}[on]
		c := meta.FindStatusCondition(status.Conditions, bmov1alpha1.ReadyCondition)
		expect.That(t, c.Status == metav1.ConditionTrue && c.Reason == want, "power %t: Ready is %s, %s; want True, %s", on, c.Status, c.Reason, want)
	}
}

// An image that is refused costs the pool a server, so the claim reports it.
func TestClaimWithARefusedImageSaysWhatItCosts(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{URL: "no URL"} })
	s := &scope{claim: claim}
	had := (&Reconciler{}).mayHave(s, policy.Grant{Admitted: true})
	wait := s.waits.sync
	expect.That(t, !had && wait.Reason == infrav1.ImageRefusedReason && strings.Contains(wait.Message, "holds its server"), "says %s: %q", wait.Reason, wait.Message)
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
	r := &Reconciler{Live: onlyClaim{claim: newClaim(withImage)}, Client: readOnly{}, Clock: fixedClock{}}
	err := r.synchronize(t.Context(), s)
	expect.That(t, patch.IsConflict(err) && s.host == host, "synchronize() = %v, want it to be refused since the claim was adopted", err)
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
	rebuilding := binding.Wait{Reason: infrav1.RebuildingReason, Message: "x"}
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
			status := tt.given.status(true, now)
			expect.Equal(t, tt.want, short(status)[bmov1alpha1.ProvisionedCondition])
		})
	}
}

func TestTokenThatIsTooLongIsNamedBesideAnImageThatIsIgnored(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: "https://images.example.com/other.raw"}
		c.Annotations = map[string]string{infrav1.RebuildAnnotation: strings.Repeat("x", 64)}
	})
	s := &scope{claim: claim, host: newHost("infra", running)}
	_, err := (&Reconciler{Clock: fixedClock{}}).desired(t.Context(), s)
	expect.That(t, err == nil && s.waits.sync.Reason == infrav1.InvalidRebuildAnnotationReason, "Synchronized has reason %s (%v)", s.waits.sync.Reason, err)
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
			status := (&given{claim: newClaim(withImage), host: tt.host, step: binding.Keep}).status(true, now)
			c := meta.FindStatusCondition(status.Conditions, bmov1alpha1.ProvisionedCondition)
			expect.That(t, strings.Contains(c.Message, "poweredOn") == tt.want, "Provisioned says %q", c.Message)
		})
	}
}

func TestWhatIsRefusedComesAfterWhatKeepsTheRest(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Annotations = map[string]string{bmov1alpha1.DetachedAnnotation: "", bmov1alpha1.RebootAnnotationPrefix: "x"}
	})
	tests := map[string]struct {
		before binding.Wait
		want   string
	}{
		"first of several":               {binding.Wait{}, infrav1.InvalidRebootAnnotationReason},
		"after a secret that is missing": {binding.Wait{Reason: "UserDataSecretSyncFailure"}, "UserDataSecretSyncFailure"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scope{claim: claim, host: newHost("infra"), step: binding.Keep}
			s.waits.sync = tt.before
			(&Reconciler{}).refuse(s)
			status := statusOf(s, true, now)
			if c := meta.FindStatusCondition(status.Conditions, bmov1alpha1.SynchronizedCondition); c.Reason != tt.want {
				t.Errorf("Synchronized has reason %s, want %s", c.Reason, tt.want)
			}
		})
	}
}

func TestReservationWakesTheClaimAtItsEnd(t *testing.T) {
	until := now.Add(7 * time.Minute)
	claim := binding.LimitReservation(newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Labels = map[string]string{infrav1.NodeReuseLabel: "workers"}
	}), until)
	r, s := &Reconciler{Clock: fixedClock{}}, &scope{claim: claim}
	if err := r.expireReservation(t.Context(), s); err != nil || !s.wake.Equal(until) {
		t.Errorf("woken at %s (%v), want %s", s.wake, err, until)
	}
	claim.Spec.ConsumerRef, s.wake = &corev1.ObjectReference{Name: "next"}, time.Time{}
	if err := r.expireReservation(t.Context(), s); err != nil || !s.wake.IsZero() {
		t.Errorf("an adopted claim is woken at %s (%v)", s.wake, err)
	}
}

// A claim whose policy was revoked reports that nothing new is written to its host, and nothing
// is.
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
			r, s := &Reconciler{Client: readOnly{}, Clock: fixedClock{}}, &scope{claim: claim, host: binding.Bind(newHost("infra", running), claim)}
			s.host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
			s.host.Annotations[infrav1.RebuildAnnotation] = ""
			if name == "let out of a hold" {
				s.host.Annotations[infrav1.HeldRebootPrefix+"mine"] = ""
			}
			s.step = binding.Keep
			expect.NoError(t, errors.Join(r.synchronize(t.Context(), s), r.reboot(t.Context(), s)))
			expect.That(t, s.waits.sync.Reason == infrav1.PolicyRevokedReason, "waits for %q", s.waits.sync)
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
		wait, _ := powerWait(s, now)
		expect.Must(t, wait.Reason == "", "waits before change %d: %v", i, wait)
		s.host = binding.PowerChanged(s.host, now.Add(time.Duration(i-20)*time.Second))
	}
	s.claim.Spec.PoweredOn, s.claim.Spec.Image.Checksum = true, "abc"
	restarted := &Reconciler{Clock: fixedClock{}}
	host, err := restarted.desired(t.Context(), s)
	if err != nil || host.Spec.Online || s.waits.sync.Reason != infrav1.PowerChangesLimitedReason || s.wake.Sub(now) != binding.PowerWindow-20*time.Second {
		t.Errorf("switched on: %t, %v, tried again at %s (%v)", host.Spec.Online, s.waits.sync, s.wake, err)
	}
	s.waits.sync = binding.Wait{}
	delete(s.host.Annotations, infrav1.PowerChangesAnnotation)
	if host, err := restarted.desired(t.Context(), s); err != nil || !host.Spec.Online || s.waits.sync.Reason != "" {
		t.Errorf("switched on: %t, %v (%v)", host.Spec.Online, s.waits.sync, err)
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
	r := &Reconciler{Client: writes, Clock: fixedClock{}}
	if err := r.synchronize(t.Context(), s); err != nil || !writes.host.Spec.Online || writes.host.Annotations[infrav1.PowerChangesAnnotation] != noted {
		t.Errorf("switched on by %v (%v)", writes.host, err)
	}
	writes.host = bmov1alpha1.BareMetalHost{}
	s.host.Status.Provisioning.State = bmov1alpha1.StateExternallyProvisioned
	s.claim.Annotations = map[string]string{bmov1alpha1.RebootAnnotationPrefix + "/held": ""}
	if err := r.reboot(t.Context(), s); err != nil || writes.host.Annotations[infrav1.PowerChangesAnnotation] != noted+","+noted {
		t.Errorf("rebooted by %v (%v)", writes.host, err)
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

// TestHostThatIsReadAgain shows that a host is written only if it is still the one that was
// decided on.
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
			_, err := (&Reconciler{Live: newer{host: current}, Client: nothing{}, Policies: &policies.Evaluator{Cached: nothing{}}}).newest(t.Context(), s)
			expect.That(t, patch.IsConflict(err) == tt.stale && (s.host.ResourceVersion == "2") != tt.stale, "newest() = %v, and goes on with version %q", err, s.host.ResourceVersion)
		})
	}
}

// nothing is a cache without objects.
type nothing struct{ client.Client }

func (nothing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}
func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestServerThatIsOffIsShownAsOff(t *testing.T) {
	on := newClaim(func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn, c.ResourceVersion = true, "7" })
	off := newClaim(func(c *bmov1alpha1.HostClaim) { c.ResourceVersion = "7" })
	tests := map[string]struct {
		before, after *bmov1alpha1.HostClaim
		want          string
	}{
		"switched off":      {on, off, `{"metadata":{"resourceVersion":"7"},"status":{"poweredOn":false}}`},
		"off as before":     {off, off, `{"metadata":{"resourceVersion":"7"},"status":{"poweredOn":false}}`},
		"switched on":       {off, on, `{"metadata":{"resourceVersion":"7"},"status":{"poweredOn":true}}`},
		"on, and no change": {on, on, `{"metadata":{"resourceVersion":"7"}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := (powerPatch{patch.Locked(tt.before)}).Data(tt.after)
			expect.That(t, err == nil && string(got) == tt.want, "patch %s (%v), want %s", got, err, tt.want)
		})
	}
}

func TestLogOfAWrittenHost(t *testing.T) {
	told := func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = &bmov1alpha1.Image{URL: imageURL} }
	on := func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = true }
	marked := func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"a": "b"} }
	tests := map[string]struct {
		before, after *bmov1alpha1.BareMetalHost
		want          []string
	}{
		"an image":         {newHost("infra", on), newHost("infra", on, told), []string{"Wrote image and data to the host"}},
		"image and power":  {newHost("infra"), newHost("infra", on, told), []string{"Wrote image and data to the host", "Changed the power of the host"}},
		"power":            {newHost("infra", told, on), newHost("infra", told), []string{"Changed the power of the host"}},
		"a rebuild":        {newHost("infra", told), newHost("infra"), []string{"Took image and data back to have the host wiped in place"}},
		"marks of our own": {newHost("infra", told), newHost("infra", told, marked), nil},
	}
	line := regexp.MustCompile(`"([^"]*)" BareMetalHost="infra/host-0"`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			log := &bytes.Buffer{}
			ctx := ctrl.LoggerInto(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
			logWritten(ctx, tt.before, tt.after)
			var got []string
			for _, found := range line.FindAllStringSubmatch(log.String(), -1) {
				got = append(got, found[1])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, log)
			}
		})
	}
}
