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

package consistent

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// newClient returns a client that reads from a cache of the server.
func newClient(t *testing.T) *Client {
	t.Helper()
	seen, err := cache.New(server.Config, cache.Options{Scheme: server.Scheme})
	expect.NoError(t, err)
	ended := make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- seen.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		expect.NoError(t, <-ended)
	})
	options := client.Options{Scheme: server.Scheme, Cache: &client.CacheOptions{Reader: seen}}
	cached, err := client.New(server.Config, options)
	expect.NoError(t, err)
	c, err := New(cached, &infrav1.Metal3DataClaim{}, &corev1.ConfigMap{})
	expect.NoError(t, err)
	return c
}

// Each write is read at once, which a cache alone shows in the fewest of 50 times.
func TestWritesAreRead(t *testing.T) {
	c, namespace := newClient(t), server.Namespace(t)
	for i := range 50 {
		claim := &infrav1.Metal3DataClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("claim-%d", i), Finalizers: []string{"example.com/kept"}}}
		claim.Spec.Template = &infrav1.Metal3ObjectRef{Name: "nodes"}
		step(t, c, "create", claim, func(o *infrav1.Metal3DataClaim) error { return c.Create(t.Context(), o) })
		step(t, c, "apply", claim, func(o *infrav1.Metal3DataClaim) error {
			desired := &infrav1.Metal3DataClaim{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, Labels: map[string]string{"a": "b"}}}
			desired.Spec.Template = &infrav1.Metal3ObjectRef{Name: "nodes"}
			version, err := patch.ApplyVersioned(t.Context(), c, desired, "test")
			o.ResourceVersion = version
			return err
		})
		step(t, c, "patch of the status", claim, func(o *infrav1.Metal3DataClaim) error {
			before := o.DeepCopy()
			o.Status.RenderedData = &infrav1.Metal3ObjectRef{Name: "data"}
			return c.Status().Patch(t.Context(), o, client.MergeFrom(before))
		})
		step(t, c, "patch", claim, func(o *infrav1.Metal3DataClaim) error {
			before := o.DeepCopy()
			o.Annotations = map[string]string{"a": "b"}
			return c.Patch(t.Context(), o, client.MergeFrom(before))
		})

		list := &infrav1.Metal3DataClaimList{}
		if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil || len(list.Items) != 1 || list.Items[0].ResourceVersion != claim.ResourceVersion {
			t.Fatalf("listed %d claims: %v", len(list.Items), err)
		}
		expect.NoError(t, c.Delete(t.Context(), claim.DeepCopy()))
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil || claim.DeletionTimestamp.IsZero() {
			t.Fatalf("a deleted claim with a finalizer is read as %v: %v", claim.DeletionTimestamp, err)
		}
		before := claim.DeepCopy()
		claim.Finalizers = nil
		expect.NoError(t, c.Patch(t.Context(), claim, client.MergeFrom(before)))
		if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil || len(list.Items) != 0 {
			t.Fatalf("listed %d claims that are gone: %v", len(list.Items), err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); !apierrors.IsNotFound(err) {
			t.Fatalf("a claim that is gone is read: %v", err)
		}
	}
	pending := c.pending(&infrav1.Metal3DataClaimList{}, "")
	expect.That(t, len(pending) == 0, "%d writes are remembered that the cache has shown", len(pending))
}

// step writes an object, and reads it in the version that the write made.
func step(t *testing.T, c client.Client, name string, o *infrav1.Metal3DataClaim, write func(*infrav1.Metal3DataClaim) error) {
	t.Helper()
	if err := write(o); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	read := &infrav1.Metal3DataClaim{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), read); err != nil || read.ResourceVersion != o.ResourceVersion {
		t.Fatalf("after the %s, version %s is read, want %s: %v", name, read.ResourceVersion, o.ResourceVersion, err)
	}
	read.DeepCopyInto(o)
}

// A cache that never shows a write holds up a pass no longer than it may.
func TestWaitEnds(t *testing.T) {
	c, namespace := newClient(t), server.Namespace(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "secret"}}
	expect.NoError(t, c.Create(t.Context(), secret))
	expect.That(t, len(c.pending(&corev1.SecretList{}, "")) == 0, "a write of a kind is noted that is not read from the cache")

	if err := c.List(t.Context(), &corev1.ConfigMapList{}); err != nil { // fills the cache
		t.Fatal(err)
	}
	never := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "never", ResourceVersion: "1"}}
	c.add(never, write{version: "1"})
	ctx, cancel := context.WithTimeout(t.Context(), catchUp/10)
	defer cancel()
	if err := c.Get(ctx, client.ObjectKeyFromObject(never), never); !apierrors.IsNotFound(err) || ctx.Err() == nil {
		t.Errorf("read with %v before the context ended", err)
	}
	began := time.Now()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(never), never); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	took := time.Since(began)
	expect.That(t, took <= 2*catchUp, "a read took %s", took)
	expect.That(t, len(c.pending(&corev1.ConfigMapList{}, "")) == 0, "a write that is never shown is remembered")
}
