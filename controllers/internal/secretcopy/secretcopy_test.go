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

package secretcopy

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// A copy is written as its metadata was read: what another client did since then is a conflict.
func TestWrite(t *testing.T) {
	copied := func(kind corev1.SecretType, key, value string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "copy", Annotations: map[string]string{"hash": value}},
			Type:       kind, Data: map[string][]byte{key: []byte(value)},
		}
	}
	key := client.ObjectKey{Namespace: "default", Name: "copy"}
	write := func(current metav1.ObjectMeta, desired *corev1.Secret) error {
		return Write(t.Context(), server.Client, current, desired, "copier")
	}
	read := func() (metav1.ObjectMeta, string) {
		t.Helper()
		secret := &corev1.Secret{}
		expect.NoError(t, server.Client.Get(t.Context(), key, secret))
		seen, err := Metadata(t.Context(), server.Client, key)
		expect.Must(t, err == nil && seen.UID == secret.UID && seen.ResourceVersion == secret.ResourceVersion, "metadata %+v, error %v, want those of %+v", seen, err, secret.ObjectMeta)
		return seen, string(secret.Data["userData"])
	}

	none, err := Metadata(t.Context(), server.Client, key)
	expect.Must(t, err == nil && !Exists(none), "metadata of no Secret: %+v, error %v", none, err)
	first := copied(corev1.SecretTypeOpaque, "userData", "a")
	expect.NoError(t, write(none, first))
	made, value := read()
	expect.That(t, value == "a" && first.ResourceVersion == made.ResourceVersion && UpToDate(made, first), "made with %q as %s, noted %s", value, made.ResourceVersion, first.ResourceVersion)
	if err := write(none, first); !apierrors.IsConflict(err) {
		t.Errorf("a Secret that was not seen: error %v, want a conflict", err)
	}
	second := copied(corev1.SecretTypeOpaque, "userData", "b")
	expect.NoError(t, write(made, second))
	changed, value := read()
	expect.That(t, value == "b" && !UpToDate(made, second) && UpToDate(changed, second), "changed to %q", value)
	if err := write(made, first); !apierrors.IsConflict(err) {
		t.Errorf("a Secret that was changed since: error %v, want a conflict", err)
	}
	// Content that the API server does not take is no reason to lose the copy that is there.
	large := copied(corev1.SecretTypeOpaque, "userData", strings.Repeat("c", corev1.MaxSecretSize+1))
	large.Annotations = second.Annotations
	if err := write(changed, large); !apierrors.IsInvalid(err) {
		t.Errorf("a Secret that is too large: error %v, want it to be invalid", err)
	}
	if kept, value := read(); kept.UID != changed.UID || value != "b" {
		t.Errorf("the copy that was there is gone: %+v with %q", kept, value)
	}
	// The type of a Secret cannot be changed.
	expect.NoError(t, write(changed, copied(corev1.SecretTypeDockerConfigJson, corev1.DockerConfigJsonKey, "{}")))
	anew, _ := read()
	expect.That(t, anew.UID != changed.UID, "a Secret of another type was not made anew")
	fixed := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "copy"}}
	expect.NoError(t, server.Client.Patch(t.Context(), fixed, client.RawPatch(types.MergePatchType, []byte(`{"immutable":true}`))))
	immutable, _ := read()
	expect.NoError(t, write(immutable, copied(corev1.SecretTypeDockerConfigJson, corev1.DockerConfigJsonKey, `{"auths":{}}`)))
	if anew, _ = read(); anew.UID == immutable.UID {
		t.Error("an immutable Secret was not made anew")
	}
	if err := write(changed, second); !apierrors.IsConflict(err) {
		t.Errorf("a Secret that was made anew since: error %v, want a conflict", err)
	}
	if err := Delete(t.Context(), server.Client, changed); !apierrors.IsConflict(err) {
		t.Errorf("deletion of one that was made anew: error %v, want a conflict", err)
	}
	expect.NoError(t, Delete(t.Context(), server.Client, anew))
	if err := write(anew, second); !apierrors.IsConflict(err) {
		t.Errorf("a Secret that is gone: error %v, want a conflict", err)
	}
}
