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

package hostclaims

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const content = "a-secret-that-must-not-be-shown"

// copying is a machine that has its claim in another namespace, which stands for another cluster, and a
// secret in its own.
type copying struct {
	*Client

	t     *testing.T
	claim *bmov1alpha1.HostClaim
}

func newCopying(t *testing.T, secret *corev1.Secret) *copying {
	t.Helper()
	here, there := server.Namespace(t), server.Namespace(t)
	if secret != nil {
		secret.Namespace = here
		server.Create(t, secret)
	}
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: there, Name: "m-1-0", Labels: map[string]string{infrav1.OriginKey: "o-1"},
	}}
	server.Create(t, claim)
	machine := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: here, Name: "m-1"}}
	return &copying{t: t, claim: claim, Client: &Client{
		clients: Clients{Live: server.Client}, machine: machine, namespace: there, client: server.Client, live: server.Client,
	}}
}

// copies brings the secrets next to the claim.
func (c *copying) copies(more ...claims.Copy) (conditions.Wait, error) {
	c.t.Helper()
	copies := claims.Copies("boot", "", "", "")
	return c.CopySecrets(c.t.Context(), c.claim, append(copies[:], more...), refused)
}

// refused hands out what a bootstrap provider has made, and what its owner has labeled.
func refused(secret *corev1.Secret, _ string) string {
	if secret.Type == clusterv1.ClusterSecretType || secret.Labels[infrav1.UserDataLabel] == "true" {
		return ""
	}
	return "set " + infrav1.UserDataLabel + "=true"
}

// through has the requests of the client take the calls first.
func (c *copying) through(calls interceptor.Funcs) client.WithWatch {
	return interceptor.NewClient(server.Client, calls)
}

// getFails lets reads of one type fail.
func getFails[T client.Object](err error) interceptor.Funcs {
	return interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, hit := o.(T); hit {
			return err
		}
		return c.Get(ctx, key, o, opts...)
	}}
}

func boot(key string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "boot", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{key: []byte(content)},
	}
}

// copied reads the copy of the user data; it is empty if there is none.
func (c *copying) copied() *corev1.Secret {
	c.t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.claim.Namespace, Name: "m-1-0-userdata"}
	expect.NoError(c.t, client.IgnoreNotFound(server.Client.Get(c.t.Context(), key, secret)))
	return secret
}

func TestCopySecrets(t *testing.T) {
	deployed := func(c *copying) {
		c.claim.Spec.UserData = &corev1.SecretReference{Name: "m-1-0-userdata"}
		c.claim.Spec.Image = &bmov1alpha1.Image{URL: "http://x/i"}
	}
	secretsFail := func(err error) func(*copying) {
		return func(c *copying) { c.clients.Live = c.through(getFails[*corev1.Secret](err)) }
	}
	forbiddenError := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "boot", errBroken)
	foreign := func(change func(*corev1.Secret)) func(*copying) {
		return func(c *copying) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.claim.Namespace, Name: "m-1-0-userdata"}, Data: map[string][]byte{"x": []byte("y")}}
			change(secret)
			server.Create(c.t, secret)
		}
	}
	tests := map[string]struct {
		secret  *corev1.Secret
		given   func(*copying)
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
			secret: boot("value"), given: func(c *copying) {
				secretsFail(forbiddenError)(c)
				deployed(c)
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
			given: func(c *copying) {
				c.client = c.through(interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return errBroken
				}})
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCopying(t, tc.secret)
			if tc.given != nil {
				tc.given(c)
			}
			said, err := c.copies()
			expect.That(t, (err != nil) == tc.wantErr, "error is %v", err)
			got := c.copied()
			expect.That(t, tc.copied == (string(got.Data["userData"]) == content), "copied %v", got.Data)
			if failure := (*Failure)(nil); errors.As(err, &failure) {
				said = failure.Wait
			}
			expect.That(t, said.Reason == tc.reason && strings.Contains(said.Message, tc.message) && !strings.Contains(said.Message, content), "said is %v", said)
		})
	}
}

// TestCopyIsKept shows what becomes of a copy that exists.
func TestCopyIsKept(t *testing.T) {
	secret := boot("value")
	c := newCopying(t, secret)
	again := func(want string) *corev1.Secret {
		t.Helper()
		if missing, err := c.copies(); err != nil || missing.Reason != "" {
			t.Fatalf("missing is %v, error %v", missing, err)
		}
		got := c.copied()
		expect.That(t, string(got.Data["userData"]) == want, "copy holds %q, want %q", got.Data, want)
		return got
	}
	first := again(content)
	expect.That(t, again(content).ResourceVersion == first.ResourceVersion, "a copy that is up to date was written")
	rotated := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"value":"bmV3"}}`))
	expect.NoError(t, server.Client.Patch(t.Context(), secret, rotated))
	again("new")
	strip := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":null},"data":{"userData":"b2xk"}}`))
	expect.NoError(t, server.Client.Patch(t.Context(), first, strip))
	again("new")
	c.client = c.through(interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
		return errBroken
	}})
	expect.NoError(t, server.Client.Patch(t.Context(), first, strip))
	if _, err := c.copies(); err == nil {
		t.Error("a copy that cannot be updated is no error")
	}
	c.client = c.through(getFails[*metav1.PartialObjectMetadata](apierrors.NewNotFound(schema.GroupResource{}, "")))
	if _, err := c.copies(); !patch.IsConflict(err) {
		t.Errorf("our own copy that the cache does not show is taken for a foreign one: %v", err)
	}
}

// TestForeignSecretUnseen shows that a secret in the way which no watch sees brings the machine back.
func TestForeignSecretUnseen(t *testing.T) {
	c := newCopying(t, boot("value"))
	server.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.claim.Namespace, Name: "m-1-0-userdata"}})
	c.client = c.through(getFails[*metav1.PartialObjectMetadata](apierrors.NewNotFound(schema.GroupResource{}, "")))
	_, err := c.copies()
	expect.That(t, errors.Is(err, errSecretTaken), "error %v", err)
}

// TestNothingToCopy shows that nothing is copied without a claim.
func TestNothingToCopy(t *testing.T) {
	c := newCopying(t, boot("value"))
	copies := claims.Copies("boot", "", "", "")
	missing, err := c.CopySecrets(t.Context(), nil, copies[:], refused)
	expect.That(t, err == nil && missing.Reason == "", "missing is %v, error %v", missing, err)
	got := c.copied()
	expect.That(t, got.Name == "", "copied %v", got)
}

// TestPullSecretIsCopied shows the copy of the credentials for a registry, with its type.
func TestPullSecretIsCopied(t *testing.T) {
	c := newCopying(t, boot("value"))
	for name, labels := range map[string]map[string]string{"registry": {infrav1.UserDataLabel: "true"}, "private": nil} {
		server.Create(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.machine.Namespace, Name: name, Labels: labels},
			Type:       corev1.SecretTypeDockerConfigJson,
			Data:       map[string][]byte{".dockerconfigjson": []byte("{}")},
		})
	}
	if missing, err := c.copies(claims.Copies("", "", "", "private")[3]); err != nil || !strings.Contains(missing.Message, infrav1.UserDataLabel) {
		t.Errorf("a Secret that its owner has not labeled: missing is %v, error %v", missing, err)
	}
	for range 2 { // the second time it is there already
		if missing, err := c.copies(claims.Copies("", "", "", "registry")[3]); err != nil || missing.Reason != "" {
			t.Fatalf("missing is %v, error %v", missing, err)
		}
	}
	copied := &corev1.Secret{}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKey{Namespace: c.claim.Namespace, Name: "m-1-0-pullsecret"}, copied))
	if copied.Type != corev1.SecretTypeDockerConfigJson || string(copied.Data[".dockerconfigjson"]) != "{}" {
		t.Errorf("the copy has type %s and keys %v", copied.Type, slices.Collect(maps.Keys(copied.Data)))
	}
}

// TestCopiesOfAnAdoptedClaim shows that the copies for the machine before, whose pull secret may be of another
// type, become those of the machine that has adopted the claim.
func TestCopiesOfAnAdoptedClaim(t *testing.T) {
	c := newCopying(t, boot("value"))
	pull := func(name string, kind corev1.SecretType, key string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.machine.Namespace, Name: name, Labels: map[string]string{infrav1.UserDataLabel: "true"}},
			Type:       kind, Data: map[string][]byte{key: []byte("{}")},
		}
	}
	server.Create(t, pull("before", corev1.SecretTypeDockercfg, corev1.DockerConfigKey),
		pull("after", corev1.SecretTypeDockerConfigJson, corev1.DockerConfigJsonKey))
	if missing, err := c.copies(claims.Copies("", "", "", "before")[3]); err != nil || missing.Reason != "" {
		t.Fatalf("missing is %v, error %v", missing, err)
	}
	c.claim.Labels[infrav1.OriginKey] = "o-2"
	c.client = remote.NewSite(identity.Target{Namespace: c.claim.Namespace}, server.Client, server.Client).Client
	for range 2 { // the second time nothing changes
		if missing, err := c.copies(claims.Copies("", "", "", "after")[3]); err != nil || missing.Reason != "" {
			t.Fatalf("missing is %v, error %v", missing, err)
		}
		for suffix, want := range map[string]corev1.Secret{
			claims.UserDataSuffix:   {Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"userData": []byte(content)}},
			claims.PullSecretSuffix: {Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")}},
		} {
			copied := &corev1.Secret{}
			expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKey{Namespace: c.claim.Namespace, Name: c.claim.Name + suffix}, copied))
			expect.That(t, copied.Labels[infrav1.OriginKey] == "o-2", "%s has origin %s", copied.Name, copied.Labels[infrav1.OriginKey])
			if diff := cmp.Diff(want, corev1.Secret{Type: copied.Type, Data: copied.Data}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", copied.Name, diff)
			}
		}
	}
}
