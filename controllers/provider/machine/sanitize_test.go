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

package machine

import (
	"context"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// TestAnswersOfAnotherClusterAreSanitized has another cluster put what it likes into
// its answers.
func TestAnswersOfAnotherClusterAreSanitized(t *testing.T) {
	hostile := apierrors.NewBadRequest("refused:\n" + content + strings.Repeat("x", 40000))
	secrets := interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if _, secret := o.(*corev1.Secret); secret {
				return hostile
			}
			return errBroken
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return hostile
		},
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "hostclaims"}, "c", hostile)
	tests := map[string]struct {
		calls interceptor.Funcs
		act   func(*world, *claimClient, *planned) progress.Outcome
		shown string // empty for nothing
	}{
		"a refused secret is not repeated": {
			calls: secrets, act: func(w *world, c *claimClient, p *planned) progress.Outcome { return c.copySecrets(w.t.Context(), p) }, shown: "400 (Bad Request)",
		},
		"a refused change of a secret is not repeated": {
			calls: secrets,
			act: func(w *world, c *claimClient, _ *planned) progress.Outcome {
				err := c.writer.Patch(w.t.Context(), boot("value"), client.RawPatch("", nil))
				return failed("", "", "Refused", err)
			},
			shown: "400 (Bad Request)",
		},
		"a refused claim is told in part": {
			calls: interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return forbidden
			}},
			act: func(w *world, c *claimClient, _ *planned) progress.Outcome {
				return claimFailed(c.writer.Apply(w.t.Context(), nil))
			},
			shown: "The other cluster answers 403: ",
		},
		"a refused read is told in part": {
			calls: interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return forbidden
			}},
			act: func(w *world, c *claimClient, _ *planned) progress.Outcome {
				_, _, err := readLive(w.t.Context(), c.reader, "n", "c")
				return claimFailed(err)
			},
			shown: "The other cluster answers 403: ",
		},
		"a refused list is told in part": {
			calls: interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return forbidden
			}},
			act: func(w *world, c *claimClient, _ *planned) progress.Outcome {
				return claimFailed(c.reader.List(w.t.Context(), &bmov1alpha1.HostClaimList{}))
			},
			shown: "The other cluster answers 403: ",
		},
		"what is no answer of an API server is not repeated": {
			calls: interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return errBroken }},
			act: func(w *world, c *claimClient, p *planned) progress.Outcome {
				return claimFailed(c.writer.Delete(w.t.Context(), p.claim))
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, _, p := copying(t, boot("value"))
			hostiles := w.through(tc.calls)
			out := tc.act(w, w.connector().remoteClaim(remote.Site{Client: hostiles, Live: hostiles}, &identity.Record{Origin: "o-1"}), p)
			err := out.Err()
			if err == nil || len(out.Waits()) != 1 {
				t.Fatalf("error %v, waits %v", err, out.Waits())
			}
			said := out.Waits()[0].Message
			if !strings.Contains(said, tc.shown) {
				t.Errorf("said is %q", said)
			}
			secret := strings.HasPrefix(tc.shown, "400") && strings.Contains(said+err.Error(), content)
			if secret || len(said) > 1000 || len(err.Error()) > 1000 || strings.ContainsAny(said+err.Error(), "\n") || strings.Contains(err.Error(), "broken") {
				t.Errorf("said is %q, logged %q", said, err)
			}
		})
	}
}
