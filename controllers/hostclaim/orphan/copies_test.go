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

package orphan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// bill counts the requests that a reconciler sends for the secrets of a test.
type bill struct {
	gets, deletes int
	// lists are the namespaces whose claims were listed on the API server, "" for all.
	lists []string
}

// newCopyReconciler has a host in namespace infra and a claim with UID "kept" in tenant.
// It may delete secrets in infra only.
func newCopyReconciler(t *testing.T, objects ...client.Object) (*CopyReconciler, *bill) {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.NoError(t, errors.Join(bmov1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)))
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, naming(""), claimWith("kept"))...).
		WithIndex(&bmov1alpha1.HostClaim{}, claim.ClaimsByUID, watch.Index(func(c *bmov1alpha1.HostClaim) []string { return []string{string(c.UID)} })).
		WithIndex(&bmov1alpha1.BareMetalHost{}, hostsByConsumerUID, watch.Index(consumerUID)).
		Build()
	b := &bill{}
	live := interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			b.gets++
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			b.lists = append(b.lists, (&client.ListOptions{}).ApplyOptions(options).Namespace)
			return c.List(ctx, list, options...)
		},
	})
	writer := interceptor.NewClient(server, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			b.deletes++
			if o.GetNamespace() != "infra" || o.GetAnnotations()["forbidden"] != "" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, o.GetName(), errors.New("no right"))
			}
			return c.Delete(ctx, o, options...)
		},
	})
	return &CopyReconciler{Client: writer, Live: live}, b
}

// lookalike is a Secret with name and labels of a copy. Source is namespace/name.
func lookalike(namespace string, uid types.UID, source string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: binding.CopyName(uid, binding.UserData), Annotations: map[string]string{},
		Labels: map[string]string{infrav1.SecretClaimUIDLabel: string(uid), infrav1.SecretKindLabel: string(binding.UserData)},
	}}
	if source != "" {
		secret.Annotations[infrav1.SecretSourceAnnotation] = source
	}
	return secret
}

// With 50 Secrets, a tenant once made the manager list all claims of the cluster for ever.
func TestHostileSecretsCostNoList(t *testing.T) {
	for name, secretOf := range map[string]func(uid types.UID) *corev1.Secret{
		"without a source in a namespace without hosts": func(uid types.UID) *corev1.Secret { return lookalike("tenant", uid, "") },
		"with a source in a namespace without hosts":    func(uid types.UID) *corev1.Secret { return lookalike("tenant", uid, "tenant/boot") },
		"without a source next to hosts":                func(uid types.UID) *corev1.Secret { return lookalike("infra", uid, "") },
	} {
		t.Run(name, func(t *testing.T) {
			var secrets []client.Object
			for i := range 50 {
				secrets = append(secrets, secretOf(types.UID(fmt.Sprint("former-", i))))
			}
			r, b := newCopyReconciler(t, secrets...)
			for _, secret := range secrets {
				result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(secret)})
				expect.Must(t, err == nil && result == (ctrl.Result{}), "it is tried again: %v, %v", result, err)
			}
			if len(b.lists) > 0 || b.deletes > 0 || b.gets > len(secrets) {
				t.Errorf("%d reads, lists of %q and %d deletions, want at most one read for each", b.gets, b.lists, b.deletes)
			}
		})
	}
}

func TestCopyNextToAHost(t *testing.T) {
	forbidden := lookalike("infra", "former", "tenant/boot")
	forbidden.Annotations["forbidden"] = "yes"
	tests := map[string]struct {
		copy          *corev1.Secret
		lists         int
		gone, refused bool
	}{
		"of a claim that exists is kept":             {copy: lookalike("infra", "kept", "tenant/boot")},
		"of a claim that does not exist is deleted":  {copy: lookalike("infra", "former", "tenant/boot"), lists: 1, gone: true},
		"that may not be deleted is not tried again": {copy: forbidden, lists: 1, refused: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, b := newCopyReconciler(t, test.copy)
			key := client.ObjectKeyFromObject(test.copy)
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if refused := errors.Is(err, reconcile.TerminalError(nil)); refused != test.refused || !refused && err != nil {
				t.Errorf("got %v, want a terminal error: %t", err, test.refused)
			}
			expect.Equal(t, test.gone, apierrors.IsNotFound(r.Client.Get(t.Context(), key, &corev1.Secret{})))
			if len(b.lists) != test.lists || test.lists > 0 && b.lists[0] != "tenant" {
				t.Errorf("claims were listed in %q, want %d lists of the tenant's namespace", b.lists, test.lists)
			}
		})
	}
}

func claimWith(uid types.UID) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "machine", UID: uid}}
}

// naming returns a host that names the claim with a UID; empty for none.
func naming(uid types.UID) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "host-0", UID: "host-uid"}}
	if uid != "" {
		host.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim", Namespace: "tenant", Name: "machine", UID: uid,
		}
	}
	return host
}

func TestEnds(t *testing.T) {
	tests := map[string]struct {
		before, after client.Object
		want          bool
	}{
		"a claim that changes":                 {claimWith("a"), claimWith("a"), false},
		"a claim that was replaced":            {claimWith("a"), claimWith("b"), true},
		"a host that gets a claim":             {naming(""), naming("a"), false},
		"a host that keeps its claim":          {naming("a"), naming("a"), false},
		"a host that ceases to name its claim": {naming("a"), naming(""), true},
		"a host that was moved with its claim": {naming("a"), naming("b"), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, ends().Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}))
		})
	}
	if ends().Create(event.CreateEvent{Object: claimWith("a")}) || !ends().Delete(event.DeleteEvent{Object: claimWith("a")}) {
		t.Error("a claim ends with its deletion, and not with its creation")
	}
}

// seen is a watch that has seen Secrets, by name, and was asked for namespaces.
type seen struct {
	where map[string][]string
	asked []string
}

func (s *seen) Ensure(namespace string)    { s.asked = append(s.asked, namespace) }
func (s *seen) Where(name string) []string { return s.where[name] }

func request(namespace, name string) reconcile.Request { return watch.Requests(namespace, name)[0] }

func TestEndOfAClaimLooksAtTheCopiesThatWereSeen(t *testing.T) {
	watch := &seen{where: map[string][]string{
		binding.CopyName("a", binding.UserData): {"infra", "other"}, binding.CopyName("b", binding.UserData): {"infra"},
	}}
	r := &CopyReconciler{Secrets: watch}
	want := []reconcile.Request{
		request("infra", binding.CopyName("a", binding.UserData)), request("other", binding.CopyName("a", binding.UserData)),
	}
	for name, object := range map[string]client.Object{"the claim": claimWith("a"), "its host": naming("a")} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, want, r.toCopies(t.Context(), object)) })
	}
	got := r.toCopies(t.Context(), naming(""))
	expect.That(t, got == nil, "a free host: %v", got)
}

// A deletion that is refused is not tried again by itself. A policy is no sign of copies: it may go before they do.
func TestSecretsNextToHostsAreWatched(t *testing.T) {
	asked := &seen{}
	for _, row := range (&CopyReconciler{Secrets: asked}).Watches() {
		e := event.CreateEvent{Object: naming("")}
		_, hosts := row.Object.(*bmov1alpha1.BareMetalHost)
		if hosts && !slices.ContainsFunc(row.Predicates, func(p predicate.Predicate) bool { return !p.Create(e) }) {
			row.Handler.Create(t.Context(), e, nil)
		}
	}
	expect.Equal(t, []string{"infra"}, asked.asked)
}
