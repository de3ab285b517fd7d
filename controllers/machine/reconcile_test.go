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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodematch"
)

// readsFail lets reads of one type fail.
func readsFail[T client.Object](err error) interceptor.Funcs {
	return interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, hit := o.(T); hit {
			return err
		}
		return c.Get(ctx, key, o, opts...)
	}}
}

func appliesFail(err error) interceptor.Funcs {
	return interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
		return err
	}}
}

func TestReconcileProblems(t *testing.T) {
	claims := schema.GroupResource{Group: "metal3.io", Resource: "hostclaims"}
	established := func(m *infrav1.Metal3Machine) { m.Spec.ProviderID = "metal3://tenant-a/host-1/m-1" }
	tests := map[string]struct {
		calls     interceptor.Funcs
		objects   []client.Object
		nodes     *nodes
		condition string // type/status/reason
		message   string
		wantErr   bool
	}{
		"a machine without an owner waits for one": {
			objects:   cast(func(m *infrav1.Metal3Machine) { m.OwnerReferences = nil }),
			condition: "AssociateBareMetalHost/False/WaitingForMetal3MachineOwnerRef",
		},
		"a machine whose owner is gone waits for one": {
			objects:   cast()[1:],
			condition: "AssociateBareMetalHost/False/WaitingForMetal3MachineOwnerRef",
		},
		"a machine whose Cluster does not exist waits for it": {
			objects:   cast()[:2],
			condition: "AssociateBareMetalHost/False/WaitingForClusterInfrastructureReady", message: `Cluster "a"`,
		},
		"a secret that cannot be read is tried again": {
			calls: readsFail[*corev1.Secret](errBroken), objects: cast(),
			condition: "AssociateBareMetalHost/False/AssociateBareMetalHostFailed", message: `Secret "boot"`, wantErr: true,
		},
		"a secret that may not be read names the right": {
			calls: readsFail[*corev1.Secret](apierrors.NewForbidden(corev1.Resource("secrets"), "boot", nil)), objects: cast(),
			condition: "AssociateBareMetalHost/False/SecretsForbidden", message: "may not get secrets in namespace",
		},
		"user data of another namespace is refused": {
			objects: cast(func(m *infrav1.Metal3Machine) {
				m.Spec.UserData = &corev1.SecretReference{Namespace: "tenant-b", Name: "boot"}
			}),
			condition: "AssociateBareMetalHost/False/InvalidConfiguration", message: `"tenant-b"`,
		},
		"a claim that is refused shows what the API server says": {
			calls:     appliesFail(apierrors.NewForbidden(claims, "m-1", errBroken)),
			objects:   cast(),
			condition: "AssociateBareMetalHost/False/AssociateBareMetalHostFailed", message: "is forbidden: broken", wantErr: true,
		},
		"a claim that cannot be written does not show the error": {
			calls: appliesFail(errBroken), objects: cast(),
			condition: "AssociateBareMetalHost/False/AssociateBareMetalHostFailed", message: "cannot be written", wantErr: true,
		},
		"a conflict is no problem of the machine, nor an error": {
			calls: appliesFail(apierrors.NewConflict(claims, "m-1", errBroken)), objects: cast(),
			condition: "AssociateBareMetalHost/False/HostClaimNotBound",
		},
		"a machine whose server runs is provisioned though its Nodes cannot be read": {
			objects: append(cast(), claimOf()), nodes: &nodes{readErr: errBroken},
			condition: "KubernetesNodeReady/False/WorkloadClusterUnreachable", message: "cannot be read", wantErr: true,
		},
		"a machine whose server runs is provisioned though its Nodes cannot be watched": {
			objects: append(cast(), claimOf()), nodes: &nodes{watchErr: errBroken},
			condition: "KubernetesNodeReady/False/WorkloadClusterUnreachable", message: "cannot be read", wantErr: true,
		},
		"a machine whose server runs is provisioned though its Node cannot be patched": {
			objects: append(cast(established), claimOf()),
			nodes: &nodes{
				found: []nodematch.Node{{Name: "n", ProviderID: "", Hostname: "h"}}, patchErr: errBroken,
			},
			condition: "KubernetesNodeReady/False/WaitingForNode", message: "cannot be given its provider ID", wantErr: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.calls, tc.objects...)
			if tc.nodes != nil {
				w.Nodes = tc.nodes
				withHostname(w, "h")
			}
			m, err := w.settle()
			if (err != nil) != tc.wantErr {
				t.Errorf("error is %v, want one: %v", err, tc.wantErr)
			}
			want := strings.Split(tc.condition, "/")
			c := meta.FindStatusCondition(m.Status.Conditions, want[0])
			if c == nil || string(c.Status) != want[1] || c.Reason != want[2] || !strings.Contains(c.Message, tc.message) {
				t.Errorf("condition is %v, want %s with message %q", c, tc.condition, tc.message)
			}
			if running := tc.nodes != nil; ptr.Deref(m.Status.Initialization.Provisioned, false) != running {
				t.Errorf("provisioned is %v, want %v", m.Status.Initialization.Provisioned, running)
			}
		})
	}
}

// withHostname gives the machine an address by which its Node may be found.
func withHostname(w *world, name string) {
	w.t.Helper()
	m := &infrav1.Metal3Machine{}
	if err := w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: "tenant-a", Name: "m-1"}, m); err != nil {
		w.t.Fatal(err)
	}
	before := m.DeepCopy()
	m.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: name}}
	if err := w.Client.Status().Patch(w.t.Context(), m, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

func TestReconcileNothing(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	if m, err := w.settle(); m != nil || err != nil {
		t.Errorf("a machine that is gone: %v, %v", m, err)
	}
	w = newWorld(t, interceptor.Funcs{}, cast()...)
	w.WatchFilter = "mine"
	m, err := w.settle()
	if err != nil || len(m.Finalizers) != 0 || len(m.Status.Conditions) != 0 {
		t.Errorf("a machine of another watch filter was touched: %v, error %v", m, err)
	}
	for name, calls := range map[string]interceptor.Funcs{
		"the machine": readsFail[*infrav1.Metal3Machine](errBroken),
		"its owner":   readsFail[*clusterv1.Machine](errBroken),
		"its Cluster": readsFail[*clusterv1.Cluster](errBroken),
	} {
		w := newWorld(t, calls, cast()...)
		if _, err := w.settle(); err == nil {
			t.Errorf("%s cannot be read, and nobody says so", name)
		}
	}
}

// deleted is the cast with a machine that is being deleted.
func deleted() []client.Object {
	return cast(func(m *infrav1.Metal3Machine) {
		m.DeletionTimestamp = &noon
		m.Finalizers = []string{infrav1.MachineFinalizer}
		m.OwnerReferences = nil
	})
}

func TestReconcileDeletion(t *testing.T) {
	t.Run("a machine without a claim goes, even without its Machine", func(t *testing.T) {
		if m, err := newWorld(t, interceptor.Funcs{}, deleted()...).settle(); m != nil || err != nil {
			t.Errorf("machine is %v, error %v", m, err)
		}
	})
	t.Run("a claim that the cache does not show is found, and released first", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, append(deleted(), claimOf())...)
		blind := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // the fake client is one
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
			Get:  readsFail[*bmov1alpha1.HostClaim](apierrors.NewNotFound(schema.GroupResource{}, "")).Get,
		})
		w.Claims.Client = blind
		m, err := w.settle()
		if err != nil || m == nil {
			t.Fatalf("machine is %v, error %v", m, err)
		}
		claim := &bmov1alpha1.HostClaim{}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(claimOf()), claim); err != nil || claim.DeletionTimestamp == nil {
			t.Errorf("claim is %v, error %v", claim, err)
		}
	})
	t.Run("a machine stays while nobody knows whether it has a claim", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, deleted()...)
		w.Live = interceptor.NewClient(w.Client.(client.WithWatch), readsFail[*bmov1alpha1.HostClaim](errBroken)) //nolint:forcetypeassert // see above
		m, err := w.settle()
		if err == nil || m == nil {
			t.Fatalf("machine is %v, error %v", m, err)
		}
		if c := meta.FindStatusCondition(m.Status.Conditions, "HostClaimReady"); c == nil || c.Reason != "DeletionFailed" {
			t.Errorf("condition is %v", c)
		}
	})
	t.Run("a claim that cannot be deleted is named", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return errBroken
		}}, append(deleted(), claimOf())...)
		m, err := w.settle()
		if c := meta.FindStatusCondition(m.Status.Conditions, "HostClaimReady"); err == nil || c == nil || c.Reason != "DeletionFailed" {
			t.Errorf("condition is %v, error %v", c, err)
		}
	})
	t.Run("data is released after the claim", func(t *testing.T) {
		data := desiredDataClaim(deleted()[1].(*infrav1.Metal3Machine), "a", "template") //nolint:forcetypeassert // see cast
		data.UID = "data-uid"
		data.Finalizers = append(data.Finalizers, infrav1.DataClaimFinalizer)
		w := newWorld(t, interceptor.Funcs{}, append(deleted(), data)...)
		m, err := w.settle()
		if m != nil || err != nil {
			t.Fatalf("machine is %v, error %v", m, err)
		}
		got := &infrav1.Metal3DataClaim{}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(data), got); err != nil {
			t.Fatal(err)
		}
		if got.DeletionTimestamp == nil || len(got.Finalizers) != 1 || got.Finalizers[0] != infrav1.DataClaimFinalizer {
			t.Errorf("data claim is %v", got.ObjectMeta)
		}
	})
}

func TestComplaint(t *testing.T) {
	data := &infrav1.Metal3Data{}
	if reason, message := complaint(data, ""); reason != "" || message != "" {
		t.Errorf("data that says nothing says %s: %s", reason, message)
	}
	if reason, message := complaint(data, "no pool"); reason != infrav1.RenderingFailedReason || message != "no pool" {
		t.Errorf("data with an error says %s: %s", reason, message)
	}
	data.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "PoolNotFound", Message: "no IPPool x"}}
	if reason, message := complaint(data, "no pool"); reason != "PoolNotFound" || message != "no IPPool x" {
		t.Errorf("data with a condition says %s: %s", reason, message)
	}
}
