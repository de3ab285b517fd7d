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
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
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

// Deletions begins deletions of HostClaims, and holds them between what
// kube-apiserver reads and what it removes, for as long as a test likes. Whether a finalizer keeps
// an object is decided on what is read; without Deletions, that is a moment before.
type Deletions struct {
	client client.Client

	mu sync.Mutex
	// asked are the claims that the webhook was asked about, held those that it holds.
	asked map[client.ObjectKey]bool
	held  map[client.ObjectKey]held
}

// held is a deletion: reached is closed when the object was read, goOn lets it go on.
type held struct{ reached, goOn chan struct{} }

// NewDeletions installs the webhook that holds what Begin begins, and lets all else pass. It listens until the process
// ends: the server asks about the deletions of all tests, and learns only after a while that the webhook was removed.
func (s *Server) NewDeletions(t *testing.T) *Deletions {
	t.Helper()
	d := &Deletions{client: s.Client, asked: map[client.ObjectKey]bool{}, held: map[client.ObjectKey]held{}}
	webhook := httptest.NewTLSServer(&admission.Webhook{Handler: admission.HandlerFunc(d.admit)})
	config := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "hold-deletions-"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "deletions.hold.test",
			ClientConfig: admissionv1.WebhookClientConfig{
				URL:      &webhook.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
			},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Delete},
				Rule: admissionv1.Rule{
					APIGroups: []string{bmov1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"hostclaims"},
				},
			}},
			SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
		}},
	}
	if err := s.Client.Create(t.Context(), config); err != nil {
		t.Fatalf("install the webhook that holds deletions: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Client.Delete(context.Background(), config); err != nil {
			t.Errorf("remove the webhook that holds deletions: %v", err)
		}
	})
	return d
}

// admit holds the first request of a deletion that Begin has made: the server asks again if
// the object has changed.
func (d *Deletions) admit(_ context.Context, request admission.Request) admission.Response {
	key := client.ObjectKey{Namespace: request.Namespace, Name: request.Name}
	d.mu.Lock()
	h, found := d.held[key]
	delete(d.held, key)
	d.asked[key] = true
	d.mu.Unlock()
	if found {
		close(h.reached)
		<-h.goOn
	}
	return admission.Allowed("")
}

// Begin begins the deletion of a claim and returns when the server has read it. End lets the
// deletion go on and returns the server's answer; it must be called.
func (d *Deletions) Begin(ctx context.Context, claim client.Object) (end func() error, err error) {
	key := client.ObjectKeyFromObject(claim)
	for !d.seen(key) { // the server has not heard of the webhook yet
		if err := d.client.Delete(ctx, claim, client.DryRunAll); err != nil {
			return nil, err
		}
	}
	h, answer := held{make(chan struct{}), make(chan struct{})}, make(chan error, 1)
	d.mu.Lock()
	d.held[key] = h
	d.mu.Unlock()
	go func() { answer <- d.client.Delete(ctx, claim) }()
	select {
	case err := <-answer:
		return nil, fmt.Errorf("the deletion was not held: %w", err)
	case <-h.reached:
	}
	return func() error {
		close(h.goOn)
		return <-answer
	}, nil
}

// seen reports whether the server asks the webhook about a claim.
func (d *Deletions) seen(key client.ObjectKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[key]
}
