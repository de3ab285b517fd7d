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

package remote

import (
	"context"
	"errors"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestAnswersOfAnotherClusterAreSanitized has another cluster put what it likes into
// its answers.
func TestAnswersOfAnotherClusterAreSanitized(t *testing.T) {
	const content = "a-secret-that-must-not-be-shown"
	refused := apierrors.NewBadRequest("refused:\n" + content + strings.Repeat("x", 40000))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "hostclaims"}, "c", refused)
	kind := func(name string) runtime.ApplyConfiguration {
		u := &unstructured.Unstructured{}
		u.SetKind(name)
		return client.ApplyConfigurationFromUnstructured(u)
	}
	tests := map[string]struct {
		answer error
		act    func(ctx context.Context, c client.Client) error
		shown  string // empty for nothing
	}{
		"a refused secret is not repeated": {
			answer: refused, act: func(ctx context.Context, c client.Client) error { return c.Apply(ctx, kind("Secret")) }, shown: "400 (Bad Request)",
		},
		"a refused change of a secret is not repeated": {
			answer: refused, shown: "400 (Bad Request)",
			act: func(ctx context.Context, c client.Client) error {
				return c.Patch(ctx, &corev1.Secret{}, client.RawPatch("", nil))
			},
		},
		"a refused new secret is not repeated": {
			answer: refused, act: func(ctx context.Context, c client.Client) error { return c.Create(ctx, &corev1.Secret{}) }, shown: "400 (Bad Request)",
		},
		"a refused claim is told in part": {
			answer: forbidden, act: func(ctx context.Context, c client.Client) error { return c.Apply(ctx, kind("HostClaim")) },
			shown: "The other cluster answers 403: ",
		},
		"a refused change of a claim is told in part": {
			answer: forbidden, shown: "The other cluster answers 403: ",
			act: func(ctx context.Context, c client.Client) error {
				return c.Patch(ctx, &bmov1alpha1.HostClaim{}, client.RawPatch("", nil))
			},
		},
		"a refused read is told in part": {
			answer: forbidden, shown: "The other cluster answers 403: ",
			act: func(ctx context.Context, c client.Client) error {
				return c.Get(ctx, client.ObjectKey{}, &corev1.Secret{})
			},
		},
		"a refused list is told in part": {
			answer: forbidden, shown: "The other cluster answers 403: ",
			act: func(ctx context.Context, c client.Client) error { return c.List(ctx, &bmov1alpha1.HostClaimList{}) },
		},
		"what is no answer of an API server is not repeated": {
			answer: errors.New("broken"),
			act:    func(ctx context.Context, c client.Client) error { return c.Delete(ctx, &bmov1alpha1.HostClaim{}) },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			hostile := interceptor.NewClient(nil, interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return tc.answer
				},
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
					return tc.answer
				},
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return tc.answer },
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return tc.answer },
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return tc.answer
				},
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return tc.answer
				},
			})
			err := tc.act(t.Context(), &siteClient{Client: hostile, cached: hostile})
			expect.Must(t, err != nil && strings.Contains(err.Error(), tc.shown), "error %v", err)
			secret := strings.HasPrefix(tc.shown, "400") && strings.Contains(err.Error(), content)
			expect.That(t, !secret && len(err.Error()) <= 1000 && !strings.ContainsAny(err.Error(), "\n") && !strings.Contains(err.Error(), "broken"), "logged is %q", err)
		})
	}
}
