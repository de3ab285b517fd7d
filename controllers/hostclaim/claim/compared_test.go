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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
)

// unwatched is a watch on secrets that sees nothing.
type unwatched struct{}

func (unwatched) Ensure(string) {}

func (unwatched) Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, live.Get(ctx, key, secret)
}

func (unwatched) Version(client.ObjectKey) (version string, known bool) { return "", false }

func (unwatched) Release(string, func() (bool, error)) error { return nil }

// watched shows the versions of secrets by namespace/name; the content of a secret of live is its
// version, too.
type watched struct {
	unwatched

	versions map[string]string
}

func (w watched) Version(key client.ObjectKey) (version string, known bool) {
	return w.versions[key.String()], true
}

func TestSecretsOfARunningClaimAreReadWhenOneHasChanged(t *testing.T) {
	l := &live{secrets: map[string]string{}}
	shown := map[string]string{}
	r := &synchronizer{live: l, secrets: watched{versions: shown}, comparisons: &comparisons{}}
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
		{"when only the secret exists", func() { is(source, "a") }, false, false},
		{"at first, without an answer", func() { is(copied, "a"); l.broken = true }, false, true},
		{"as there was no answer", func() { l.broken = false }, false, true},
		{"when nothing has happened", func() {}, false, false},
		{"when a secret has changed", func() { is(source, "b") }, true, true},
		{"when nothing has happened since", func() {}, true, false},
		{"when the change is not shown yet", func() { l.secrets[copied] = "b" }, true, false},
		{"when the watch is interrupted", func() { r.secrets = unwatched{} }, false, true},
		{"when it shows what was read meanwhile", func() { r.secrets = watched{versions: shown}; is(copied, "b") }, false, false},
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

func TestCopyThatIsInStep(t *testing.T) {
	claim := newClaim(withImage, func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = &corev1.SecretReference{Name: "boot"} })
	source, copied := "tenant/boot", "infra/"+binding.CopyName(claim.UID, binding.UserData)
	for name, tt := range map[string]struct {
		change func(s *scope, shown map[string]string, last *comparison)
		want   bool
	}{
		"as both were written":             {want: true},
		"the secret has changed":           {change: func(_ *scope, shown map[string]string, _ *comparison) { shown[source] = "3" }},
		"the copy was edited":              {change: func(_ *scope, shown map[string]string, _ *comparison) { shown[copied] = "3" }},
		"the copy is gone":                 {change: func(_ *scope, shown map[string]string, _ *comparison) { delete(shown, copied) }},
		"the copy was never written":       {change: func(_ *scope, _ map[string]string, last *comparison) { *last = comparison{} }},
		"the two were found to differ":     {change: func(_ *scope, _ map[string]string, last *comparison) { last.differs = true }},
		"the host is another one":          {change: func(s *scope, _ map[string]string, _ *comparison) { s.host.UID = "other" }},
		"the claim names another secret":   {change: func(s *scope, _ map[string]string, _ *comparison) { s.claim.Spec.UserData.Name = "other" }},
		"the claim names no secret by now": {change: func(s *scope, _ map[string]string, _ *comparison) { s.claim.Spec.UserData = nil }},
	} {
		s, shown := &scope{claim: claim.DeepCopy(), host: newHost("infra")}, map[string]string{source: "1", copied: "2"}
		r := &synchronizer{secrets: watched{versions: shown}, comparisons: &comparisons{}}
		last := comparison{pair: pair{
			source: types.NamespacedName{Namespace: "tenant", Name: "boot"}, sourceVersion: "1",
			copied: types.NamespacedName{Namespace: "infra", Name: binding.CopyName(claim.UID, binding.UserData)}, copiedVersion: "2",
			host: s.host.UID,
		}}
		if tt.change != nil {
			tt.change(s, shown, &last)
		}
		r.comparisons.note(keyOf(claim), binding.UserData, last)
		if got := r.inStep(s, binding.UserData); got != tt.want {
			t.Errorf("%s: in step %t, want %t", name, got, tt.want)
		}
	}
}

// What a host is told, or is switched on for, is read live: a claim may be seen before its new data.
func TestSecretsAreReadBeforeAHostIsToldOfThem(t *testing.T) {
	claim := newClaim(withImage, func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = &corev1.SecretReference{Name: "boot"} })
	copied := binding.CopyName(claim.UID, binding.UserData)
	for name, tt := range map[string]struct {
		told, online, wanted bool
		reads                int
	}{
		"a host that was told nothing":                    {online: true, wanted: true, reads: 2},
		"one that was told, and runs":                     {told: true, online: true, wanted: true},
		"one that was told, and is about to be on":        {told: true, wanted: true, reads: 2},
		"one that was told, and stays off":                {told: true},
		"one that was told, runs, and is about to be off": {told: true, online: true},
	} {
		l := &live{secrets: map[string]string{"tenant/boot": "1", "infra/" + copied: "2"}}
		r := &synchronizer{live: l, secrets: watched{versions: l.secrets}, comparisons: &comparisons{}}
		s := &scope{claim: claim.DeepCopy(), host: newHost("infra")}
		s.claim.Spec.PoweredOn, s.host.Spec.Online = tt.wanted, tt.online
		p, _ := r.shown(s, binding.UserData)
		r.comparisons.note(keyOf(claim), binding.UserData, comparison{pair: p})
		if tt.told {
			s.host.Spec.Image = claim.Spec.Image
		}
		got, err := r.provide(t.Context(), s, binding.UserData, policy.Grant{})
		if l.count != tt.reads || tt.reads == 0 && (got != copied || err != nil) {
			t.Errorf("%s: %q, %v after %d reads, want %d", name, got, err, l.count, tt.reads)
		}
	}
}
