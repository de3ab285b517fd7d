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
	"errors"
	"fmt"
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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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

// patchesFail lets patches of one type fail.
func patchesFail[T client.Object](err error) interceptor.Funcs {
	return interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
		if _, hit := o.(T); hit {
			return err
		}
		return c.Patch(ctx, o, p, opts...)
	}}
}

func appliesFail(err error) interceptor.Funcs {
	return interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
		return err
	}}
}

var listsFail = interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
	return errBroken
}}

func TestReconcileProblems(t *testing.T) {
	claims := schema.GroupResource{Group: "metal3.io", Resource: "hostclaims"}
	established := func(c *cast) { c.machine.Spec.ProviderID = "metal3://tenant-a/host-1/m-1" }
	named := func(c *cast) {
		c.machine.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: "h"}}
	}
	tests := map[string]struct {
		calls     interceptor.Funcs
		given     *cast
		nodes     *fakeNodes
		condition string // type/status/reason
		message   string
		wantErr   bool
	}{
		"a machine whose owner is gone waits for one": {
			given:     newCast(func(c *cast) { c.owner = nil; c.machine.Finalizers = []string{infrav1.MachineFinalizer} }),
			condition: "AssociateBareMetalHost/False/WaitingForMetal3MachineOwnerRef",
		},
		"a machine whose Cluster does not exist waits for it": {
			given:     newCast(func(c *cast) { c.cluster = nil }),
			condition: "AssociateBareMetalHost/False/WaitingForClusterInfrastructureReady", message: `Cluster "a"`,
		},
		"a secret that cannot be read is tried again": {
			calls: readsFail[*corev1.Secret](errBroken), given: newCast(),
			condition: "AssociateBareMetalHost/False/AssociateBareMetalHostFailed", message: `Secret "boot"`, wantErr: true,
		},
		"user data of the Metal3Machine does not stand in for bootstrap data": {
			given: newCast(func(c *cast) {
				c.machine.Spec.UserData, c.owner.Spec.Bootstrap.DataSecretName = &corev1.SecretReference{Name: "boot"}, nil
			}),
			condition: "AssociateBareMetalHost/False/WaitingForBootstrapData",
		},
		"user data that is not known to be the machine's is refused": {
			given:     newCast(func(c *cast) { c.secret.Type = corev1.SecretTypeOpaque }),
			condition: "AssociateBareMetalHost/False/InvalidConfiguration", message: "hostclaim.metal3.io/user-data=true",
		},
		"a claim that is refused shows what the API server says": {
			calls:     appliesFail(apierrors.NewForbidden(claims, "m-1", errBroken)),
			given:     newCast(),
			condition: "AssociateBareMetalHost/False/AssociateBareMetalHostFailed", message: "is forbidden: broken", wantErr: true,
		},
		"a claim that cannot be written does not show the error": {
			calls: appliesFail(errBroken), given: newCast(),
			condition: "AssociateBareMetalHost/False/AssociateBareMetalHostFailed", message: "cannot be written", wantErr: true,
		},
		"an answer that no condition can hold is shown in part": {
			calls:     appliesFail(apierrors.NewForbidden(claims, "m-1", errors.New(strings.Repeat("x", 40000)))),
			given:     newCast(),
			condition: "AssociateBareMetalHost/False/AssociateBareMetalHostFailed", message: "xxx…", wantErr: true,
		},
		"a machine whose server runs is provisioned though its Nodes cannot be read": {
			given: newCast(running), nodes: &fakeNodes{readErr: errBroken},
			condition: "KubernetesNodeReady/False/WorkloadClusterUnreachable", message: "cannot be read", wantErr: true,
		},
		"a machine of whose cluster no more is read says why": {
			given: newCast(running), nodes: &fakeNodes{readErr: fmt.Errorf("read: %w", &identity.Problem{Message: "it has too many Nodes"})},
			condition: "KubernetesNodeReady/False/WorkloadClusterUnreachable", message: "cannot be read: it has too many Nodes", wantErr: true,
		},
		"a machine whose server runs is provisioned though its Nodes cannot be watched": {
			given: newCast(running), nodes: &fakeNodes{watchErr: errBroken},
			condition: "KubernetesNodeReady/False/WorkloadClusterUnreachable", message: "cannot be read", wantErr: true,
		},
		"a machine whose server runs is provisioned though its Node cannot be patched": {
			given:     newCast(running, established, named),
			nodes:     &fakeNodes{found: []nodes.Node{{Name: "n", ProviderID: "", Hostname: "h"}}, patchErr: errBroken},
			condition: "KubernetesNodeReady/False/WaitingForNode", message: "cannot be given its provider ID", wantErr: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.calls, tc.given)
			if tc.nodes != nil {
				w.Nodes = tc.nodes
			}
			m, err := w.settle()
			if (err != nil) != tc.wantErr {
				t.Errorf("error is %v, want one: %v", err, tc.wantErr)
			}
			w.expect(m, tc.condition, tc.message)
			if running := tc.nodes != nil; ptr.Deref(m.Status.Initialization.Provisioned, false) != running {
				t.Errorf("provisioned is %v, want %v", m.Status.Initialization.Provisioned, running)
			}
		})
	}
}

// expect checks a condition, written type/status/reason.
func (w *world) expect(m *infrav1.Metal3Machine, condition, message string) {
	w.t.Helper()
	want := strings.Split(condition, "/")
	c := meta.FindStatusCondition(m.Status.Conditions, want[0])
	if c == nil || string(c.Status) != want[1] || c.Reason != want[2] || !strings.Contains(c.Message, message) {
		w.t.Errorf("condition is %v, want %s with message %q", c, condition, message)
	}
}

func TestReconcileNothing(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.machine = nil }))
	w.goes()
	w.Secrets.Ensure(w.namespace)
	whole := w.Client
	w.Client = w.through(listsFail)
	if _, err := w.settle(); err == nil {
		t.Error("an error about the secrets of the namespace is lost")
	}
	w.Client = whole
	w.settled()
	w = newWorld(t, interceptor.Funcs{}, newCast())
	w.WatchFilter = "mine"
	if m := w.settled(); len(m.Finalizers) != 0 || len(m.Status.Conditions) != 0 {
		t.Errorf("a machine of another watch filter was touched: %v", m)
	}
	if w.there().freed == 0 {
		t.Error("the connection of a machine that another manager has taken over is held")
	}
	for name, calls := range map[string]interceptor.Funcs{
		"the machine": readsFail[*infrav1.Metal3Machine](errBroken),
		"its owner":   readsFail[*clusterv1.Machine](errBroken),
		"its Cluster": readsFail[*clusterv1.Cluster](errBroken),
	} {
		if _, err := newWorld(t, calls, newCast()).settle(); err == nil {
			t.Errorf("%s cannot be read, and the error is lost", name)
		}
	}
}

// TestPause shows that pausing costs one request, and a pass of a paused machine none.
func TestPause(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.cluster.Spec.Paused = ptr.To(true) }))
	w.once()
	w.get(w.machine)
	w.expect(w.machine, "Paused/True/Paused", "Cluster \"a\" is paused")
	if len(w.machine.Finalizers) != 0 {
		t.Errorf("finalizers are %v", w.machine.Finalizers)
	}
	expect.Equal(t, w.machine.ResourceVersion, w.settled().ResourceVersion)
	w.edit(w.cluster, func() { w.cluster.Spec.Paused = nil })
	m := w.settled()
	w.expect(m, "Paused/False/NotPaused", "")
	w.expect(m, "AssociateBareMetalHost/False/HostClaimNotBound", "")
}

// TestReconcilePause shows a claim that cannot be paused with its Cluster.
func TestReconcilePause(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running, func(c *cast) { c.cluster.Spec.Paused = ptr.To(true) }))
	whole := w.Client
	w.Client = w.through(patchesFail[*bmov1alpha1.HostClaim](errBroken))
	w.expect(w.fails(), "AssociateBareMetalHost/False/BareMetalHostPauseAnnotationSetFailed", "cannot be paused")
	w.Client = whole
	if c := meta.FindStatusCondition(w.settled().Status.Conditions, "AssociateBareMetalHost"); c != nil {
		t.Errorf("after the claim was paused, the machine still says %v", c)
	}
	w.get(w.claim)
	if _, paused := w.claim.Annotations[clusterv1.PausedAnnotation]; !paused {
		t.Error("the claim was not paused")
	}
}

// TestSecretsAreWatchedWhileTheNamespaceIsInUse shows that the watch of Secrets outlives the last machine of a
// namespace that has a Metal3Data left, and no longer.
func TestSecretsAreWatchedWhileTheNamespaceIsInUse(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, &cast{})
	data := &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "t-0"},
		Spec: infrav1.Metal3DataSpec{
			Index: ptr.To(int32(0)), Claim: &infrav1.Metal3ObjectRef{Name: "m"}, Template: &infrav1.Metal3ObjectRef{Name: "t"},
		},
	}
	w.create(data)
	w.Secrets.Ensure(w.namespace)
	broken := w.through(interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errBroken
	}})
	gone := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "gone"}}
	for _, want := range []bool{true, false} {
		if _, err := w.Reconcile(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		err := w.Secrets.Release(t.Context(), broken, w.namespace, secretwatch.User{List: &infrav1.Metal3DataList{}, Which: client.InNamespace(w.namespace)})
		if watched := err != nil; watched != want { // only of a namespace that is watched it is asked who needs it
			t.Errorf("watched: %v, want %v", watched, want)
		}
		expect.NoError(t, client.IgnoreNotFound(server.Client.Delete(t.Context(), data)))
	}
}
