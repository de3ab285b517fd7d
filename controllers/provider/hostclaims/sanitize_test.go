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
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// TestAnswersOfAnotherClusterAreSanitized has another cluster put what it likes into
// its answers.
func TestAnswersOfAnotherClusterAreSanitized(t *testing.T) {
	hostile := apierrors.NewBadRequest("refused:\n" + content + strings.Repeat("x", 40000))
	secrets := interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return hostile
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return hostile
		},
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "hostclaims"}, "c", hostile)
	tests := map[string]struct {
		calls interceptor.Funcs
		act   func(*copying) error
		shown string // empty for nothing
	}{
		"a refused secret is not repeated": {
			calls: secrets, act: func(c *copying) error { _, err := c.copies(); return err }, shown: "400 (Bad Request)",
		},
		"a refused change of a secret is not repeated": {
			calls: secrets,
			act: func(c *copying) error {
				return c.client.Patch(c.t.Context(), boot("value"), client.RawPatch("", nil))
			},
			shown: "400 (Bad Request)",
		},
		"a refused claim is told in part": {
			calls: interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return forbidden
			}},
			act: func(c *copying) error {
				return patch.Apply(c.t.Context(), c.client, c.claim, infrav1.MachineFieldOwner)
			},
			shown: "The other cluster answers 403: ",
		},
		"a refused read is told in part": {
			calls: interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return forbidden
			}},
			act: func(c *copying) error {
				_, err := c.get(c.t.Context(), c.live, "c")
				return err
			},
			shown: "The other cluster answers 403: ",
		},
		"a refused list is told in part": {
			calls: interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return forbidden
			}},
			act: func(c *copying) error {
				return c.live.List(c.t.Context(), &bmov1alpha1.HostClaimList{})
			},
			shown: "The other cluster answers 403: ",
		},
		"what is no answer of an API server is not repeated": {
			calls: interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return errBroken }},
			act: func(c *copying) error {
				return c.client.Delete(c.t.Context(), c.claim)
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCopying(t, boot("value"))
			hostile := c.through(tc.calls)
			c.client, c.live = sanitizingClient{hostile}, sanitizingReader{hostile}
			err := tc.act(c)
			if err == nil || !strings.Contains(err.Error(), tc.shown) {
				t.Fatalf("error %v", err)
			}
			secret := strings.HasPrefix(tc.shown, "400") && strings.Contains(err.Error(), content)
			if secret || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "broken") {
				t.Errorf("logged is %q", err)
			}
		})
	}
}
