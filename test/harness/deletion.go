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
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

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

// NewDeletions installs the webhook that holds what Begin begins, and lets all else pass.
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
		webhook.Close()
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
