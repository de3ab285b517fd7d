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

package secretwatch

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// reads counts live reads.
type reads struct {
	client.Reader

	count int
}

func (r *reads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	r.count++
	return r.Reader.Get(ctx, key, o, opts...)
}

// outlined asks for the outline of a Secret, and returns whether it exists and how many reads
// that took.
func outlined(t *testing.T, w *Watch, namespace, name string) (exists bool, count int) {
	t.Helper()
	live := &reads{Reader: server.Client}
	o, err := w.Outline(t.Context(), live, client.ObjectKey{Namespace: namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return false, live.count
	case err != nil:
		t.Fatal(err)
	case o.Name != name:
		t.Errorf("asked for %s, got %s", name, o.Name)
	}
	return true, live.count
}

func TestOutlineReadsASecretAgainOnlyWhenItHasChanged(t *testing.T) {
	tenant := server.Namespace(t)
	w := New(newClient(t))
	expectReads := func(when, name string, exists bool, count int) {
		t.Helper()
		found, read := outlined(t, w, tenant, name)
		expect.That(t, found == exists && read == count, "%s: exists %v after %d reads, want %v after %d", when, found, read, exists, count)
	}
	key := client.ObjectKey{Namespace: tenant, Name: "s"}
	expectVersion := func(when, want string, shown bool) {
		t.Helper()
		live := &reads{Reader: server.Client}
		o, err := w.Metadata(t.Context(), live, key)
		if err != nil || o.ResourceVersion != want || (live.count == 0) != shown {
			t.Errorf("%s: version %q, error %v after %d reads, want %q, known %v", when, o.ResourceVersion, err, live.count, want, shown)
		}
	}
	expectReads("of a namespace that is not watched", "s", false, 1)
	expectVersion("of a namespace that is not watched", "", false)
	requests := start(t, w)
	w.Ensure(tenant)
	wants(t, requests, tenant, "")
	seen := func(change func(*corev1.Secret) error, s *corev1.Secret) {
		t.Helper()
		expect.NoError(t, change(s))
		wants(t, requests, tenant, s.Name)
	}
	create := func(s *corev1.Secret) error { return server.Client.Create(t.Context(), s) }
	patch := func(s *corev1.Secret) error {
		before := s.DeepCopy()
		s.Data = map[string][]byte{"value": []byte("other")}
		return server.Client.Patch(t.Context(), s, client.MergeFrom(before))
	}
	remove := func(s *corev1.Secret) error { return server.Client.Delete(t.Context(), s) }

	seen(create, secret(tenant, "first")) // the stream of changes is open
	expectReads("one that does not exist", "s", false, 0)
	expectVersion("one that does not exist", "", true)
	s := secret(tenant, "s")
	seen(create, s)
	expectVersion("one that was made", s.ResourceVersion, true)
	expectReads("one that was made", "s", true, 1)
	expectReads("the same once more", "s", true, 0)
	seen(patch, s)
	expectReads("one that has changed", "s", true, 1)
	expectReads("the same once more", "s", true, 0)
	seen(remove, s)
	expectReads("one that was deleted", "s", false, 0)
	seen(create, secret(tenant, "s"))
	expectReads("one that was made anew", "s", true, 1)
}

// One that was just written is not taken for missing while its event is on its way.
func TestOutlineOfASecretThatWasJustWritten(t *testing.T) {
	w := New(newClient(t))
	w.Ensure("n")
	l := w.storeOf("n")
	l.changed = func(string) {}
	expect.NoError(t, l.Replace(nil, "6"))
	made := secret("n", "s")
	made.ResourceVersion = "7"
	w.Read(made)
	if _, _, known := l.look("s"); known {
		t.Error("it was not seen, and counts as known")
	}
	expect.NoError(t, l.Add(metadataOf(made)))
	if _, o, known := l.look("s"); !known || o == nil {
		t.Error("it was seen as it was written, and counts as unknown")
	}
	l.answered(errors.New("refused"), false)
	if _, _, known := l.look("s"); known {
		t.Error("the watch is refused, and it counts as known")
	}
	l.answered(nil, true)
	if _, _, known := l.look("s"); !known {
		t.Error("the watch goes on, and it counts as unknown")
	}
}

// metadataOf is a Secret as the reflector has it.
func metadataOf(s *corev1.Secret) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: s.ObjectMeta}
}

func TestOutlineHoldsNoContent(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "u", Controller: ptr.To(true)}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "d", UID: "v"}
	w := New(nil, "cluster.x-k8s.io/cluster-name", "hostclaim.metal3.io/user-data", "kept")
	got := w.outline(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "s", UID: types.UID("1"), ResourceVersion: "2",
			Annotations:     map[string]string{"kept": "yes", "hostclaim.metal3.io/user-data": strings.Repeat("x", maxAnnotation+1)},
			Labels:          map[string]string{"a": "b", "cluster.x-k8s.io/cluster-name": "c", "hostclaim.metal3.io/user-data": "true"},
			OwnerReferences: []metav1.OwnerReference{other, owner},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"value": []byte("password"), "metaData": {}, "mine": []byte("x")},
	})
	sum := sha256.Sum256([]byte("password"))
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "s", UID: types.UID("1"), ResourceVersion: "2", OwnerReferences: []metav1.OwnerReference{owner},
			Labels:      map[string]string{"cluster.x-k8s.io/cluster-name": "c", "hostclaim.metal3.io/user-data": "true"},
			Annotations: map[string]string{"kept": "yes"},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"value": sum[:], "metaData": nil},
	}
	expect.Equal(t, want, got)
}

// gated answers no read before its gate is open.
type gated struct {
	client.Reader

	gate  chan struct{}
	count atomic.Int32
}

func (g *gated) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	g.count.Add(1)
	<-g.gate
	return nil
}

func TestOutlineIsReadOnceHoweverManyAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, live := New(nil), &gated{gate: make(chan struct{})}
		for range 18 {
			go func() {
				_, err := w.Outline(t.Context(), live, client.ObjectKey{Namespace: "n", Name: "s"})
				expect.That(t, err == nil, "%v", err)
			}()
		}
		synctest.Wait()
		close(live.gate)
		synctest.Wait()
		expect.Equal(t, 1, live.count.Load())
	})
}

// TestOutlineOfASecretThatNoListHasEverHad shows that nothing is kept of a Secret that came and went
// while the stream of changes was interrupted.
func TestOutlineOfASecretThatNoListHasEverHad(t *testing.T) {
	w := New(newClient(t))
	w.Ensure("tenant")
	l := w.storeOf("tenant")
	l.changed = func(string) {}
	brief := secret("tenant", "brief")
	brief.ResourceVersion = "7"
	for _, when := range []func(){func() {}, func() { w.Read(brief) }} {
		when()
		expect.NoError(t, l.Replace(nil, "6"))
	}
	expect.Equal(t, 0, len(l.outlines))
}
