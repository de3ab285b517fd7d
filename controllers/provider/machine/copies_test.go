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
	"maps"
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

const content = "a-secret-that-must-not-be-shown"

// copying is a pass over a machine that has its claim in another namespace, which stands
// for another cluster, and a secret in its own.
func copying(t *testing.T, secret *corev1.Secret) (*world, *claimClient, *planned) {
	t.Helper()
	there := server.Namespace(t)
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.secret = secret }))
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: there, Name: "m-1-0", Labels: map[string]string{infrav1.OriginKey: "o-1"},
	}}
	server.Create(t, claim)
	copies := claims.Copies("boot", "", "")
	c := &claimClient{connector: w.connector(), writer: w.Client, reader: w.Client}
	return w, c, &planned{scope: &scope{machine: w.machine, owner: w.owner, claim: claim}, plan: machines.Plan{
		Copies: copies[:],
		Claim: &claims.Wanted{
			Name: claim.Name, Remote: &claims.Remote{Namespace: there, Origin: "o-1"},
			Deployment: &claims.Deployment{UserData: "m-1-0-userdata"}, PoweredOn: true,
		},
	}}
}

func boot(key string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "boot", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{key: []byte(content)},
	}
}

// copyOf reads the copy of the pass.
func copyOf(t *testing.T, s *planned) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.claim.Namespace, Name: "m-1-0-userdata"}
	if err := client.IgnoreNotFound(server.Client.Get(t.Context(), key, secret)); err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestCopySecrets(t *testing.T) {
	deployed := func(_ *world, _ *claimClient, p *planned) {
		p.claim.Spec.UserData = &corev1.SecretReference{Name: "m-1-0-userdata"}
		p.observed.Claim.Deployment = &claims.Deployment{}
	}
	secretsFail := func(err error) func(*world, *claimClient, *planned) {
		return func(w *world, c *claimClient, _ *planned) { c.live = w.through(readsFail[*corev1.Secret](err)) }
	}
	forbiddenError := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "boot", errBroken)
	foreign := func(change func(*corev1.Secret)) func(*world, *claimClient, *planned) {
		return func(w *world, _ *claimClient, p *planned) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.claim.Namespace, Name: "m-1-0-userdata"}, Data: map[string][]byte{"x": []byte("y")}}
			change(secret)
			server.Create(w.t, secret)
		}
	}
	tests := map[string]struct {
		secret  *corev1.Secret
		given   func(*world, *claimClient, *planned)
		copied  bool
		reason  string // of Metal3DataReady; empty for none
		message string
		wantErr bool
	}{
		"the user data of a bootstrap provider is copied": {secret: boot("value"), copied: true},
		"user data under its own key is copied":           {secret: boot("userData"), copied: true},
		"a secret that is no bootstrap data is named": {
			secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "boot"}, Data: map[string][]byte{"value": []byte(content)}},
			reason: "SecretNotCopied", message: "hostclaim.metal3.io/user-data=true",
		},
		"a secret without user data is named":                {secret: boot("token"), reason: "SecretNotCopied", message: `"userData"`},
		"a secret that does not exist is named":              {reason: "SecretNotCopied", message: "create it"},
		"a source that went after it was used is not missed": {given: deployed},
		"a right that went after it was used is not missed": {
			secret: boot("value"), given: func(w *world, c *claimClient, p *planned) {
				secretsFail(forbiddenError)(w, c, p)
				deployed(w, c, p)
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
			given: func(w *world, c *claimClient, _ *planned) {
				c.writer = w.through(interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					return errBroken
				}})
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, c, p := copying(t, tc.secret)
			if tc.given != nil {
				tc.given(w, c, p)
			}
			out := c.write(t.Context(), p)
			if (out.Err() != nil) != tc.wantErr {
				t.Errorf("error is %v", out.Err())
			}
			if got := copyOf(t, p); tc.copied != (string(got.Data["userData"]) == content) {
				t.Errorf("copied %v", got.Data)
			}
			if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(p.claim), p.claim); err != nil {
				t.Fatal(err)
			}
			if asked := p.claim.Spec.UserData != nil && p.claim.Spec.PoweredOn; asked != (tc.reason == "") {
				t.Errorf("the claim asks for the image: %v", asked)
			}
			var said progress.Wait
			if len(out.Waits()) > 0 {
				said = out.Waits()[0]
			}
			if said.Reason != tc.reason || !strings.Contains(said.Message, tc.message) || strings.Contains(said.Message, content) {
				t.Errorf("said is %v", said)
			}
		})
	}
}

// TestCopyIsKept shows what becomes of a copy that exists.
func TestCopyIsKept(t *testing.T) {
	w, c, s := copying(t, boot("value"))
	again := func(want string) *corev1.Secret {
		t.Helper()
		if out := c.copySecrets(t.Context(), s); !out.Done() {
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
	c.writer = w.through(patchesFail[*corev1.Secret](errBroken))
	if err := server.Client.Patch(t.Context(), first, strip); err != nil {
		t.Fatal(err)
	}
	if out := c.copySecrets(t.Context(), s); out.Err() == nil {
		t.Error("a copy that cannot be updated is no error")
	}
	c.writer = w.through(readsFail[*metav1.PartialObjectMetadata](errNotFound))
	s.observed.Claim.Deployment = &claims.Deployment{}
	if _, err := c.copySecrets(t.Context(), s).Result(noon.Time); err != nil {
		t.Errorf("our own copy that the cache does not show is taken for a foreign one: %v", err)
	}
}

// TestForeignSecretUnseen shows that a secret in the way which no watch sees brings
// the machine back.
func TestForeignSecretUnseen(t *testing.T) {
	w, c, s := copying(t, boot("value"))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.claim.Namespace, Name: "m-1-0-userdata"}}
	server.Create(t, secret)
	c.writer = w.through(readsFail[*metav1.PartialObjectMetadata](errNotFound))
	if out := c.copySecrets(t.Context(), s); out.Err() == nil || len(out.Waits()) != 1 {
		t.Errorf("error %v, waits %v", out.Err(), out.Waits())
	}
}

// TestNothingToCopy shows that passes without a claim or a plan for it copy nothing.
func TestNothingToCopy(t *testing.T) {
	_, c, s := copying(t, boot("value"))
	unclaimed := &planned{scope: &scope{machine: s.machine}, plan: s.plan}
	if out := c.copySecrets(t.Context(), unclaimed); !out.Done() {
		t.Errorf("outcome is %v", out)
	}
	unplanned := &planned{scope: s.scope, plan: machines.Plan{Copies: s.plan.Copies}}
	if out := c.write(t.Context(), unplanned); !out.Done() {
		t.Errorf("outcome is %v", out)
	}
	if got := copyOf(t, s); got.Name != "" {
		t.Errorf("copied %v", got)
	}
}

// TestPullSecretIsCopied shows the copy of the credentials for a registry, with its type.
func TestPullSecretIsCopied(t *testing.T) {
	w, c, p := copying(t, boot("value"))
	w.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "registry", Labels: map[string]string{infrav1.UserDataLabel: "true"}},
		Type:       corev1.SecretTypeDockerConfigJson,
		Data:       map[string][]byte{".dockerconfigjson": []byte("{}")},
	})
	w.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "private"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{".dockerconfigjson": []byte("{}")},
	})
	p.plan.Copies = []claims.Copy{claims.PullSecretCopy("private")}
	if waits := c.copySecrets(t.Context(), p).Waits(); len(waits) != 1 || !strings.Contains(waits[0].Message, infrav1.UserDataLabel) {
		t.Errorf("a Secret that its owner has not labeled: waits are %v", waits)
	}
	copies := claims.Copies("boot", "", "")
	p.plan.Copies = copies[:]
	p.plan.Copies = append(p.plan.Copies, claims.PullSecretCopy("registry"))
	p.plan.Claim.Deployment.Image = claims.ImageOf(&infrav1.Image{URL: "oci://registry/image"}, "m-1-0-pullsecret")
	for range 2 { // the second time it is there already
		if out := c.write(t.Context(), p); out.Err() != nil {
			t.Fatal(out.Err())
		}
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(p.claim), p.claim); err != nil {
			t.Fatal(err)
		}
	}
	copied := &corev1.Secret{}
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: p.claim.Namespace, Name: "m-1-0-pullsecret"}, copied); err != nil {
		t.Fatal(err)
	}
	if copied.Type != corev1.SecretTypeDockerConfigJson || string(copied.Data[".dockerconfigjson"]) != "{}" {
		t.Errorf("the copy has type %s and keys %v", copied.Type, slices.Collect(maps.Keys(copied.Data)))
	}
	if got := claims.PullSecretOf(p.claim.Spec.Image); got != copied.Name {
		t.Errorf("the claim names pull secret %q", got)
	}
}
