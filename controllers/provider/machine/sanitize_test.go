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

// TestWordsOfOthers has another cluster put what it likes into its answers.
func TestWordsOfOthers(t *testing.T) {
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
		act   func(*world, *scope) progress.Outcome
		shown string // empty for nothing
	}{
		"a refused secret is not repeated": {
			calls: secrets, act: func(w *world, s *scope) progress.Outcome { return w.claimSteps().copySecrets(w.t.Context(), s) }, shown: "400 (Bad Request)",
		},
		"a refused change of a secret is not repeated": {
			calls: secrets,
			act: func(w *world, s *scope) progress.Outcome {
				err := s.site.client.Patch(w.t.Context(), boot("value"), client.RawPatch("", nil))
				return s.failed("", "", "Refused", err)
			},
			shown: "400 (Bad Request)",
		},
		"a refused claim is told in part": {
			calls: interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return forbidden
			}},
			act: func(w *world, s *scope) progress.Outcome {
				return s.claimProblem(s.site.client.Apply(w.t.Context(), nil))
			},
			shown: "The other cluster answers 403: ",
		},
		"a refused read is told in part": {
			calls: interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return forbidden
			}},
			act: func(w *world, s *scope) progress.Outcome {
				_, _, err := s.site.readLive(w.t.Context(), "c")
				return s.claimProblem(err)
			},
			shown: "The other cluster answers 403: ",
		},
		"a refused list is told in part": {
			calls: interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return forbidden
			}},
			act: func(w *world, s *scope) progress.Outcome {
				return s.claimProblem(s.site.live.List(w.t.Context(), &bmov1alpha1.HostClaimList{}))
			},
			shown: "The other cluster answers 403: ",
		},
		"what is no answer of an API server is not repeated": {
			calls: interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return errBroken }},
			act: func(w *world, s *scope) progress.Outcome {
				return s.claimProblem(s.site.client.Delete(w.t.Context(), s.claim))
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, s := copying(t, boot("value"))
			hostiles := w.through(tc.calls)
			record := identity.Record{Origin: "o-1"}
			s.reach(remote.Site{Client: hostiles, Live: hostiles}, &record, true)
			err := tc.act(w, s).Err()
			if err == nil || len(s.problems) != 1 {
				t.Fatalf("error %v, problems %v", err, s.problems)
			}
			said := s.problems[0].Message
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
