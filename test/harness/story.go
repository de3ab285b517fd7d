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

package harness

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Story is one test on a server: an administrator's client, assertions that end the
// test, and the verbs that the suites share. A suite embeds it in a type of its own
// and adds the objects that its stories are about.
type Story struct {
	client.Client
	T   *testing.T
	G   *gomega.WithT
	Ctx context.Context
}

// NewStory begins a story of t.
func (s *Server) NewStory(t *testing.T) Story {
	t.Helper()
	return Story{Client: s.Client, T: t, G: gomega.NewWithT(t), Ctx: t.Context()}
}

// OK ends the test on an error.
func (s Story) OK(err error) {
	s.T.Helper()
	s.G.Expect(err).NotTo(gomega.HaveOccurred())
}

// Make creates objects.
func (s Story) Make(objects ...client.Object) {
	s.T.Helper()
	for _, o := range objects {
		s.OK(s.Create(s.Ctx, o))
	}
}

// MakeSecret creates a Secret with one key.
func (s Story) MakeSecret(namespace, name, key, value string) {
	s.T.Helper()
	s.Make(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{key: []byte(value)},
	})
}

// Read brings an object up to date.
func (s Story) Read(o client.Object) {
	s.T.Helper()
	s.OK(s.Get(s.Ctx, client.ObjectKeyFromObject(o), o))
}

// Edit patches metadata and spec of an object after a function changed it as it is now.
func (s Story) Edit(o client.Object, edit func()) {
	s.T.Helper()
	before := s.edited(o, edit)
	s.OK(s.Patch(s.Ctx, o, client.MergeFrom(before)))
}

// EditStatus is Edit for the status.
func (s Story) EditStatus(o client.Object, edit func()) {
	s.T.Helper()
	before := s.edited(o, edit)
	s.OK(s.Status().Patch(s.Ctx, o, client.MergeFrom(before)))
}

func (s Story) edited(o client.Object, edit func()) (before client.Object) {
	s.T.Helper()
	s.Read(o)
	before, ok := o.DeepCopyObject().(client.Object)
	s.G.Expect(ok).To(gomega.BeTrue())
	edit()
	return before
}

// SetStatus writes a whole status, also the fields that are empty, which a patch of
// differences would leave out.
func (s Story) SetStatus(o client.Object, status any) {
	s.T.Helper()
	text, err := json.Marshal(map[string]any{"status": status})
	s.OK(err)
	s.OK(s.Status().Patch(s.Ctx, o, client.RawPatch(types.MergePatchType, text)))
}

// Await reads an object until the check holds.
func (s Story) Await(o client.Object, check func(g gomega.Gomega)) {
	s.T.Helper()
	s.G.Eventually(func(g gomega.Gomega) {
		g.Expect(s.Get(s.Ctx, client.ObjectKeyFromObject(o), o)).To(gomega.Succeed())
		check(g)
	}).Should(gomega.Succeed())
}

// AwaitGone waits until an object no longer exists.
func (s Story) AwaitGone(o client.Object) {
	s.T.Helper()
	s.G.Eventually(func() bool {
		seen, ok := o.DeepCopyObject().(client.Object)
		return ok && apierrors.IsNotFound(s.Get(s.Ctx, client.ObjectKeyFromObject(o), seen))
	}).Should(gomega.BeTrue(), o.GetName())
}

// Condition returns a condition as "Status/Reason", or "none".
func Condition(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return string(c.Status) + "/" + c.Reason
	}
	return "none"
}

// Message returns the message of a condition, empty if the condition is absent.
func Message(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// Tenant is a story in one namespace.
type Tenant struct {
	Story
	Namespace string
}

// NewTenant begins a story of t in a namespace of its own, whose name starts with
// prefix.
func (s *Server) NewTenant(t *testing.T, prefix string) Tenant {
	t.Helper()
	return Tenant{Story: s.NewStory(t), Namespace: s.Namespace(t, prefix, nil)}
}

// Key is the key of a name in the namespace.
func (tn Tenant) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: tn.Namespace, Name: name}
}

// Find reads an object by its name.
func (tn Tenant) Find(name string, into client.Object) error {
	return tn.Get(tn.Ctx, tn.Key(name), into)
}

// Named sets namespace and name of an object that is to be read.
func (tn Tenant) Named(name string, o client.Object) client.Object {
	o.SetNamespace(tn.Namespace)
	o.SetName(name)
	return o
}

// Add creates objects in the namespace.
func (tn Tenant) Add(objects ...client.Object) {
	tn.T.Helper()
	for _, o := range objects {
		o.SetNamespace(tn.Namespace)
		tn.Make(o)
	}
}

// Change patches an object, as it was given, after a function changed it.
func Change[T client.Object](s Story, o T, edit func(T)) {
	s.T.Helper()
	before, ok := o.DeepCopyObject().(client.Object)
	s.G.Expect(ok).To(gomega.BeTrue())
	edit(o)
	s.OK(s.Patch(s.Ctx, o, client.MergeFrom(before)))
}
