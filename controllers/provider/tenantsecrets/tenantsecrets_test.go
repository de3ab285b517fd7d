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

package tenantsecrets

import (
	"context"
	"errors"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// watched reports whether a namespace is watched: only then does Release ask whether the watch
// is needed.
func watched(t *testing.T, w *secretwatch.Watch, namespace string) bool {
	t.Helper()
	asked := false
	if err := w.Release(namespace, func() (bool, error) { asked = true; return true, nil }); err != nil {
		t.Fatal(err)
	}
	return asked
}

func TestRelease(t *testing.T) {
	machine := func(namespace string) client.Object {
		return &infrav1.Metal3Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"},
			Spec:       infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}},
		}
	}
	data := func(namespace string) client.Object {
		return &infrav1.Metal3Data{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "t-0"},
			Spec: infrav1.Metal3DataSpec{
				Index: ptr.To(int32(0)), Claim: &infrav1.Metal3ObjectRef{Name: "m"}, Template: &infrav1.Metal3ObjectRef{Name: "t"},
			},
		}
	}
	tests := map[string]struct {
		left    func(namespace string) client.Object // nil: nothing
		other   bool                                 // left in another namespace
		watched bool
	}{
		"stops when nothing is left":                      {},
		"stops whatever is left in other namespaces":      {left: machine, other: true},
		"goes on while there is a machine":                {left: machine, watched: true},
		"goes on while a Metal3Data outlives its machine": {left: data, watched: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := server.Namespace(t)
			if tc.left != nil {
				in := namespace
				if tc.other {
					in = server.Namespace(t)
				}
				server.Create(t, tc.left(in))
			}
			w := secretwatch.New(nil) // started by no test
			w.Ensure(namespace)
			if err := Release(t.Context(), w, server.Client, namespace); err != nil {
				t.Fatal(err)
			}
			if got := watched(t, w, namespace); got != tc.watched {
				t.Errorf("watched: %v", got)
			}
		})
	}
}

func TestReleaseKeepsTheWatchWhenItCannotLook(t *testing.T) {
	w := secretwatch.New(nil) // started by no test
	w.Ensure("tenant")
	blind := interceptor.NewClient(server.Client, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("broken")
		},
	})
	if err := Release(t.Context(), w, blind, "tenant"); err == nil {
		t.Error("the error is lost")
	}
	if !watched(t, w, "tenant") {
		t.Error("the watch is lost")
	}
}
