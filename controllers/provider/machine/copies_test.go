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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
)

const content = "a-secret-that-nobody-may-read"

// copying is a pass over a machine that has a claim elsewhere and a secret at home.
func copying(t *testing.T, secret *corev1.Secret) (*world, *scope) {
	t.Helper()
	there := server.Namespace(t)
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.secret = secret }))
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: there, Name: "m-1-0", Labels: map[string]string{infrav1.OriginKey: "o-1"},
	}}
	server.Create(t, claim)
	copies := claims.Copies("boot", "", "")
	s := &scope{
		machine: w.machine, claim: claim, site: &site{client: w.Client, live: w.Client},
		plan: &machines.Plan{
			Copies: copies[:], Claim: &claims.Wanted{Deployment: &claims.Deployment{UserData: "m-1-0-userdata"}, PoweredOn: true},
		},
	}
	return w, s
}

func boot(key string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "boot"}, Data: map[string][]byte{key: []byte(content)}}
}

// copyOf reads the copy of the pass.
func copyOf(t *testing.T, s *scope) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.claim.Namespace, Name: "m-1-0-userdata"}
	if err := client.IgnoreNotFound(server.Client.Get(t.Context(), key, secret)); err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestCopySecrets(t *testing.T) {
	deployed := func(_ *world, s *scope) { s.observed.Claim.Deployment = &claims.Deployment{} }
	secretsFail := func(err error) func(*world, *scope) {
		return func(w *world, _ *scope) { w.Live = w.through(readsFail[*corev1.Secret](err)) }
	}
	forbiddenError := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "boot", errBroken)
	foreign := func(change func(*corev1.Secret)) func(*world, *scope) {
		return func(w *world, s *scope) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.claim.Namespace, Name: "m-1-0-userdata"}, Data: map[string][]byte{"x": []byte("y")}}
			change(secret)
			server.Create(w.t, secret)
		}
	}
	tests := map[string]struct {
		secret  *corev1.Secret
		given   func(*world, *scope)
		copied  bool
		reason  string // of Metal3DataReady; empty for none
		message string
		wantErr bool
	}{
		"the user data of a bootstrap provider is copied":    {secret: boot("value"), copied: true},
		"user data under its own key is copied":              {secret: boot("userData"), copied: true},
		"a secret without user data is named":                {secret: boot("token"), reason: "SecretNotCopied", message: `"userData"`},
		"a secret that does not exist is named":              {reason: "SecretNotCopied", message: "create it"},
		"a source that went after it was used is not missed": {given: deployed},
		"a right that went after it was used is not missed": {
			secret: boot("value"), given: func(w *world, s *scope) {
				secretsFail(forbiddenError)(w, s)
				deployed(w, s)
			},
		},
		"a right that is missing is named":            {secret: boot("value"), given: secretsFail(forbiddenError), reason: "SecretsForbidden", message: "RoleBinding"},
		"a secret that cannot be read is tried again": {secret: boot("value"), given: secretsFail(errBroken), reason: "SecretNotCopied", message: "cannot be read", wantErr: true},
		"a foreign secret is not taken over, and tried again": {
			secret: boot("value"), given: foreign(func(*corev1.Secret) {}), reason: "SecretNotCopied", message: "-userdata", wantErr: true,
		},
		"a secret of another origin is not taken over, and tried again since its events wake others": {
			secret: boot("value"), given: foreign(func(f *corev1.Secret) { f.Labels = map[string]string{infrav1.OriginKey: "o-2"} }),
			reason: "SecretNotCopied", message: "-userdata", wantErr: true,
		},
		"a secret that only looks like a copy is not taken over, and wakes us when it goes": {
			secret: boot("value"), given: foreign(func(f *corev1.Secret) { f.Labels = map[string]string{infrav1.OriginKey: "o-1"} }),
			reason: "SecretNotCopied", message: "-userdata",
		},
		"a copy that cannot be written is tried again": {
			secret: boot("value"), reason: "SecretNotCopied", message: "cannot be copied", wantErr: true,
			given: func(w *world, s *scope) {
				s.site.client = w.through(interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					return errBroken
				}})
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, s := copying(t, tc.secret)
			if tc.given != nil {
				tc.given(w, s)
			}
			out := w.claimSteps().copySecrets(t.Context(), s)
			if (out.Err() != nil) != tc.wantErr {
				t.Errorf("error is %v", out.Err())
			}
			if got := copyOf(t, s); tc.copied != (string(got.Data["userData"]) == content) {
				t.Errorf("copied %v", got.Data)
			}
			if asked := s.plan.Claim.Deployment != nil; asked != (tc.reason == "") {
				t.Errorf("the claim asks for the image: %v", asked)
			}
			var said machines.Wait
			if len(s.problems) > 0 {
				said = s.problems[0]
			}
			if said.Reason != tc.reason || !strings.Contains(said.Message, tc.message) || strings.Contains(said.Message, content) {
				t.Errorf("said is %v", said)
			}
		})
	}
}

// TestCopyIsKept shows what becomes of a copy that exists.
func TestCopyIsKept(t *testing.T) {
	w, s := copying(t, boot("value"))
	again := func(want string) *corev1.Secret {
		t.Helper()
		if out := w.claimSteps().copySecrets(t.Context(), s); !out.Done() {
			t.Fatalf("outcome is %v, %v", out.Waits(), out.Err())
		}
		got := copyOf(t, s)
		if string(got.Data["userData"]) != want {
			t.Errorf("copy holds %q, want %q", got.Data, want)
		}
		return got
	}
	first := again(content)
	if second := again(content); second.ResourceVersion != first.ResourceVersion {
		t.Error("a copy that is up to date was written")
	}
	w.secret.Data = map[string][]byte{"value": []byte("new")}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"value":"bmV3"}}`))
	if err := server.Client.Patch(t.Context(), w.secret, patch); err != nil {
		t.Fatal(err)
	}
	again("new")
	strip := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":null},"data":{"userData":"b2xk"}}`))
	if err := server.Client.Patch(t.Context(), first, strip); err != nil {
		t.Fatal(err)
	}
	again("new")
	s.site.client = w.through(patchesFail[*corev1.Secret](errBroken))
	if err := server.Client.Patch(t.Context(), first, strip); err != nil {
		t.Fatal(err)
	}
	if out := w.claimSteps().copySecrets(t.Context(), s); out.Err() == nil {
		t.Error("nobody says that the copy cannot be updated")
	}
	s.site.client = w.through(readsFail[*metav1.PartialObjectMetadata](errNotFound))
	s.observed.Claim.Deployment = &claims.Deployment{}
	if _, err := w.claimSteps().copySecrets(t.Context(), s).Result(noon.Time); err != nil {
		t.Errorf("our own copy that the cache does not show is taken for a foreign one: %v", err)
	}
}

// TestForeignSecretUnseen shows that a secret in the way which no watch sees brings
// the machine back.
func TestForeignSecretUnseen(t *testing.T) {
	w, s := copying(t, boot("value"))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.claim.Namespace, Name: "m-1-0-userdata"}}
	server.Create(t, secret)
	s.site.client = w.through(readsFail[*metav1.PartialObjectMetadata](errNotFound))
	if out := w.claimSteps().copySecrets(t.Context(), s); out.Err() == nil || len(s.problems) != 1 || s.plan.Claim.Deployment != nil {
		t.Errorf("error %v, problems %v", out.Err(), s.problems)
	}
}

// TestNothingToCopy shows that passes without a claim or a plan for it copy nothing.
func TestNothingToCopy(t *testing.T) {
	w, s := copying(t, boot("value"))
	unclaimed, unplanned := *s, *s
	unclaimed.claim, unplanned.plan = nil, &machines.Plan{Copies: s.plan.Copies}
	for _, s := range []*scope{&unclaimed, &unplanned} {
		if out := w.claimSteps().copySecrets(t.Context(), s); !out.Done() {
			t.Errorf("outcome is %v", out)
		}
	}
	if got := copyOf(t, s); got.Name != "" {
		t.Errorf("copied %v", got)
	}
}
