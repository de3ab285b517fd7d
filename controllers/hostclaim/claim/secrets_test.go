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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// unwatched is a watch on secrets that sees nothing.
type unwatched struct{}

func (unwatched) Ensure(string) {}

func (unwatched) Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, live.Get(ctx, key, secret)
}

func (unwatched) Read(secret *corev1.Secret) *corev1.Secret { return secret }

func (unwatched) Metadata(ctx context.Context, live client.Reader, key client.ObjectKey) (metav1.ObjectMeta, error) {
	secret := &corev1.Secret{}
	err := live.Get(ctx, key, secret)
	return secret.ObjectMeta, client.IgnoreNotFound(err)
}

func (unwatched) Release(context.Context, client.Reader, string, ...SecretUser) error {
	return nil
}

// watched shows the versions of secrets by namespace/name, and remembers what it has read.
type watched struct {
	unwatched

	versions    map[string]string
	outlines    map[string]*corev1.Secret
	interrupted bool
}

func (w *watched) Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	version, noted := w.versions[key.String()], w.outlines[key.String()]
	switch {
	case !w.interrupted && version == "":
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	case !w.interrupted && noted != nil && noted.ResourceVersion == version:
		return noted, nil
	}
	secret := &corev1.Secret{}
	if err := live.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	w.outlines[key.String()] = outline(secret)
	return w.outlines[key.String()], nil
}

func (w *watched) Metadata(ctx context.Context, live client.Reader, key client.ObjectKey) (metav1.ObjectMeta, error) {
	version := w.versions[key.String()]
	switch {
	case w.interrupted:
		return w.unwatched.Metadata(ctx, live, key)
	case version == "":
		return metav1.ObjectMeta{}, nil
	default:
		return copyOf(version).ObjectMeta, nil
	}
}

// outline is a secret with the digests of its values.
func outline(secret *corev1.Secret) *corev1.Secret {
	o := secret.DeepCopy()
	for key, value := range o.Data {
		o.Data[key] = secretkeys.Digest(value)
	}
	return o
}

// copyOf is a secret with user data, as it is next to the host.
func copyOf(value string) *corev1.Secret {
	content := secretkeys.Content{Type: corev1.SecretTypeOpaque, Key: "userData", Value: []byte(value)}
	secret := binding.Copy(newClaim(), newHost("infra"), binding.UserData, content)
	secret.ResourceVersion = value
	return secret
}

func TestSecretsOfARunningClaimAreReadWhenOneHasChanged(t *testing.T) {
	l := &live{secrets: map[string]string{}}
	w := &watched{versions: map[string]string{}, outlines: map[string]*corev1.Secret{}}
	shown, r := w.versions, &Reconciler{Live: l, Secrets: w}
	claim := newClaim(withImage, func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = &corev1.SecretReference{Name: "boot"} })
	source, copied := "tenant/boot", "infra/"+binding.CopyName(claim.UID, binding.UserData)
	is := func(key, version string) { l.secrets[key], shown[key] = version, version }
	steps := []struct {
		when    string
		do      func()
		rotated bool
		reads   bool
	}{
		{"when neither exists", func() {}, false, false},
		{"when the secret exists, without an answer", func() { is(source, "a"); l.broken = true }, false, true},
		{"as there was no answer", func() { l.broken = false }, false, true},
		{"when it was copied", func() { is(copied, "a") }, false, false},
		{"when a secret has changed", func() { is(source, "b") }, true, true},
		{"when nothing has happened since", func() {}, true, false},
		{"when the change is not shown yet", func() { l.secrets[copied] = "b" }, true, false},
		{"when the watch is interrupted", func() { w.interrupted = true }, false, true},
		{"when it shows what was read meanwhile", func() { w.interrupted = false; is(copied, "b") }, false, false},
		{"when a secret changes while it is read", func() {
			shown[source] = "c"
			l.during = func() { shown[source] = "d" }
		}, false, true},
		{"as what was read is not what is shown", func() { l.during = nil; l.secrets[source] = "d" }, true, true},
		{"when the claim names another secret", func() { claim.Spec.UserData.Name = "gone" }, false, false},
		{"when the claim is another one", func() { claim.Spec.UserData.Name, claim.UID = "boot", "other" }, false, false},
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

// shelf holds secrets by namespace/name, and counts what is read whole and written.
type shelf struct {
	unwatched
	client.Client

	secrets        map[string]*corev1.Secret
	reads, written int
}

func (f *shelf) find(key client.ObjectKey) (*corev1.Secret, error) {
	if secret, found := f.secrets[key.String()]; found {
		return secret, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
}

func (f *shelf) Outline(_ context.Context, _ client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	secret, err := f.find(key)
	if err != nil {
		return nil, err
	}
	return outline(secret), nil
}

func (f *shelf) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	f.reads++
	found, err := f.find(key)
	if secret, ok := object.(*corev1.Secret); ok && err == nil {
		found.DeepCopyInto(secret)
	}
	return err
}

// Metadata is as Outline shows it.
func (f *shelf) Metadata(_ context.Context, _ client.Reader, key client.ObjectKey) (metav1.ObjectMeta, error) {
	if secret, found := f.secrets[key.String()]; found {
		return secret.ObjectMeta, nil
	}
	return metav1.ObjectMeta{}, nil
}

func (f *shelf) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return corev1.SchemeGroupVersion.WithKind("Secret"), nil
}

func (f *shelf) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	f.written++
	return nil
}

// stocked is a claim, its host, and a shelf with both secrets and their copies.
func stocked() (*scope, *shelf) {
	s := &scope{host: newHost("infra"), claim: newClaim(withImage, func(c *bmov1alpha1.HostClaim) {
		c.Spec.UserData, c.Spec.MetaData = &corev1.SecretReference{Name: "boot"}, &corev1.SecretReference{Name: "meta"}
	})}
	s.host.UID = "host-uid"
	f := &shelf{secrets: map[string]*corev1.Secret{}}
	for kind, source := range map[binding.SecretKind]string{binding.UserData: "tenant/boot", binding.MetaData: "tenant/meta"} {
		key := map[binding.SecretKind]string{binding.UserData: "userData", binding.MetaData: "metaData"}[kind]
		content := secretkeys.Content{Type: corev1.SecretTypeOpaque, Key: key, Value: []byte("x")}
		f.secrets[source] = &corev1.Secret{Type: content.Type, Data: map[string][]byte{key: content.Value}}
		copied := binding.Copy(s.claim, s.host, kind, content)
		copied.UID = types.UID(kind)
		f.secrets[client.ObjectKeyFromObject(copied).String()] = copied
	}
	return s, f
}

func (f *shelf) reconciler() *Reconciler {
	return &Reconciler{Client: f, Live: f, Secrets: f, Budget: &secretcopy.Budget{}, Metrics: unread(), Clock: fixedClock{}}
}

// A payload that is new to the host, or for which it is switched on, is read live, since a claim
// may be seen before its new data. Nothing is copied that a host will not read, or before all can
// be copied.
func TestSecretsThatAreReadAndCopied(t *testing.T) {
	copied := "infra/" + binding.CopyName(newClaim().UID, binding.UserData)
	change := func(_ *scope, f *shelf) {
		f.secrets["tenant/boot"] = &corev1.Secret{Data: map[string][]byte{"userData": []byte("y")}}
	}
	for name, tt := range map[string]struct {
		told, online, wanted bool
		change               func(*scope, *shelf)
		reads, written       int
		reason               string
	}{
		"a host that was told nothing":                     {online: true, wanted: true, reads: 2},
		"one that was told nothing, of what has changed":   {online: true, wanted: true, change: change, reads: 2, written: 1},
		"one that was told, and runs":                      {told: true, online: true, wanted: true},
		"one that was told and runs, of what has changed":  {told: true, online: true, wanted: true, change: change, reads: 1, written: 1},
		"one that was told, and is about to be on":         {told: true, wanted: true, reads: 2},
		"one that is about to be on, of what has changed":  {told: true, wanted: true, change: change, reads: 2, written: 1},
		"one that was told, and stays off":                 {told: true},
		"one that stays off, of what has changed":          {told: true, change: change},
		"one that was told, runs, and is about to be off":  {told: true, online: true},
		"one that runs, and whose copy lost its digest":    {told: true, online: true, wanted: true, reads: 1, written: 1, change: func(_ *scope, f *shelf) { f.secrets[copied].Annotations = nil }},
		"one that runs, and whose copy has lost its marks": {told: true, online: true, wanted: true, reads: 1, reason: "UserDataSecretSyncFailure", change: func(_ *scope, f *shelf) { f.secrets[copied].Labels = nil }},
		"one that stays off, and whose copy is gone":       {told: true, reads: 1, written: 1, change: func(_ *scope, f *shelf) { delete(f.secrets, copied) }},
		"one that was made anew":                           {told: true, online: true, wanted: true, reads: 2, written: 2, change: func(s *scope, _ *shelf) { s.host.UID = "other" }},
		"one whose claim names another secret":             {told: true, online: true, wanted: true, reason: "UserDataSecretSyncFailure", change: func(s *scope, _ *shelf) { s.claim.Spec.UserData.Name = "other" }},
		"one of whose secrets one is missing": {
			online: true, wanted: true, reason: "MetaDataSecretSyncFailure", change: func(_ *scope, f *shelf) { delete(f.secrets, "tenant/meta") },
		},
		"one of whose secrets one cannot be used": {
			online: true, wanted: true, reason: "MetaDataSecretSyncFailure",
			change: func(_ *scope, f *shelf) { f.secrets["tenant/meta"] = &corev1.Secret{} },
		},
	} {
		s, f := stocked()
		s.claim.Spec.PoweredOn, s.host.Spec.Online = tt.wanted, tt.online
		if tt.told {
			s.host.Spec.Image = s.claim.Spec.Image
		}
		if tt.change != nil {
			tt.change(s, f)
		}
		payload, err := f.reconciler().provided(t.Context(), s)
		if f.reads != tt.reads || f.written != tt.written || s.waits.sync.Reason != tt.reason || (payload != nil) != (tt.reason == "") {
			t.Errorf("%s: %d reads and %d writes, %q (%v); want %d, %d, %q",
				name, f.reads, f.written, s.waits.sync.Reason, err, tt.reads, tt.written, tt.reason)
		}
	}
}

// A claim whose namespace has copied too much reports that and comes back at its turn; until
// then it reads nothing.
func TestClaimThatWaitsForItsTurnToCopy(t *testing.T) {
	s, f := stocked()
	f.secrets["tenant/boot"].Data = map[string][]byte{"userData": make([]byte, secretcopy.PerSecond-1<<10)}
	r := f.reconciler()
	r.Budget.Take(client.ObjectKey{Namespace: "tenant", Name: "other"}, secretcopy.Burst, now)
	for _, reads := range []int{2, 2} {
		payload, err := r.provided(t.Context(), s)
		if err != nil || payload != nil || s.wake.Sub(now).Seconds() != 1 || s.waits.sync.Reason != infrav1.SecretCopiesLimitedReason || f.reads != reads || f.written != 0 {
			t.Errorf("comes back at %s because of %q with %d reads and %d writes (%v)", s.wake, s.waits.sync.Reason, f.reads, f.written, err)
		}
	}
}

// A host that got its secrets while it was off is not switched on for outdated ones.
func TestHostStaysOffWhileItsSecretsAreNotNextToIt(t *testing.T) {
	s, f := stocked()
	s.claim.Spec.PoweredOn, s.claim.Spec.Image.Checksum = true, "abc"
	s.host.Spec.Image = s.claim.Spec.Image
	s.decision = policy.Evaluate(nil, policy.Namespace{Name: "tenant"}, policy.OwnWithoutPolicy)
	s.decision.Grants["infra"] = s.decision.Grants["tenant"]
	for name, tt := range map[string]struct {
		change func()
		online bool
	}{
		"one is missing": {func() { delete(f.secrets, "tenant/meta") }, false},
		"all are there":  {func() { f.secrets["tenant/meta"] = &corev1.Secret{Data: map[string][]byte{"metaData": nil}} }, true},
	} {
		tt.change()
		s.waits.sync = binding.Wait{}
		host, err := f.reconciler().desiredAs(t.Context(), s, s.claim, binding.Applied)
		expect.That(t, err == nil && host.Spec.Online == tt.online && (s.waits.sync.Reason == "") == tt.online, "%s: on %t, %v", name, host.Spec.Online, s.waits.sync)
	}
}

func TestClaimIsFoundByItsSecretsAndCopies(t *testing.T) {
	copied, pull := binding.CopyNames("claim-uid"), "pull"
	claim := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Namespace, c.UID, c.Spec = "tenant", "claim-uid", bmov1alpha1.HostClaimSpec{}
	})
	expect.Equal(t, copied, watch.Index(secretsOf)(claim))
	claim.Spec.UserData = &corev1.SecretReference{Name: "boot", Namespace: "ignored"}
	claim.Spec.Image = &bmov1alpha1.Image{OCIAuthSecretName: &pull}
	expect.Equal(t, append(copied, "tenant/boot", "tenant/pull"), watch.Index(secretsOf)(claim))
	got := watch.Index(secretsOf)(&bmov1alpha1.BareMetalHost{})
	expect.That(t, got == nil, "a host is found by %v", got)
}
