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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

var errNotFound = apierrors.NewNotFound(schema.GroupResource{}, "")

// blind is a cache that does not show claims yet.
func blind() interceptor.Funcs {
	return interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
		Get:  readsFail[*bmov1alpha1.HostClaim](errNotFound).Get,
	}
}

// late is a cache that shows claims as they were before their deployment.
func late() interceptor.Funcs {
	return interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := c.List(ctx, list, opts...); err != nil {
				return err
			}
			if claims, ok := list.(*bmov1alpha1.HostClaimList); ok {
				for i := range claims.Items {
					claims.Items[i].ResourceVersion = "1"
					claims.Items[i].Spec.Image, claims.Items[i].Spec.PoweredOn = nil, false
				}
			}
			return nil
		},
	}
}

// TestStaleMachine shows that a pass on an old copy of the machine does not announce a
// second time what another one has announced.
func TestStaleMachine(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running, func(c *cast) { c.machine.Finalizers = []string{infrav1.MachineFinalizer} }))
	recorder := w.record()
	w.get(w.machine)
	w.once()
	w.Client = w.through(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if m, stale := o.(*infrav1.Metal3Machine); stale {
			w.machine.DeepCopyInto(m)
			return nil
		}
		return c.Get(ctx, key, o, opts...)
	}})
	w.once()
	reasons := map[string]int{}
	for len(recorder.Events) > 0 {
		reasons[strings.Fields(<-recorder.Events)[1]]++
	}
	if reasons["Provisioned"] != 1 || len(reasons) != 1 {
		t.Errorf("events are %v", reasons)
	}
}

// TestLostHostIsAnnouncedOnce shows that a machine whose host is lost does not announce that again after a
// pass which could not read the claim.
func TestLostHostIsAnnouncedOnce(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running, func(c *cast) {
		c.machine.Finalizers = []string{infrav1.MachineFinalizer}
		c.claim.Status.Conditions = []metav1.Condition{{
			Type: "Associated", Status: metav1.ConditionFalse, Reason: "MissingBareMetalHost", LastTransitionTime: noon,
		}}
	}))
	recorder := w.record()
	for _, reads := range []interceptor.Funcs{{}, listsFail, {}} {
		w.claimCache = w.through(reads)
		_, err := w.Reconcile(t.Context(), request(w.namespace, "m-1"))
		if broken := reads.List != nil; broken != (err != nil) {
			t.Fatalf("error %v", err)
		}
		w.get(w.machine)
		w.expect(w.machine, "AssociateBareMetalHost/False/HostLost", "must be replaced")
	}
	if len(recorder.Events) != 1 {
		t.Errorf("%d events, want one", len(recorder.Events))
	}
}

// TestStaleClaims shows that a claim loses nothing to a pass which has not seen
// what the claim is by now.
func TestStaleClaims(t *testing.T) {
	for name, cache := range map[string]interceptor.Funcs{
		"a cache that does not show the claim":      blind(),
		"a cache that shows it before it was given": late(),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, newCast(running, func(c *cast) { c.machine.Spec.FailureDomain = "row-2" }))
			w.claimCache = w.through(cache)
			w.settled()
			w.get(w.claim)
			if w.claim.Spec.Image == nil || !w.claim.Spec.PoweredOn || w.claim.Spec.FailureDomain != "" {
				t.Errorf("the claim became %v", w.claim.Spec)
			}
		})
	}
}

func TestReconcileDeletion(t *testing.T) {
	t.Run("a machine without a claim goes, even without its Machine", func(t *testing.T) {
		newWorld(t, interceptor.Funcs{}, newCast(deleted)).goes()
	})
	t.Run("a claim that the cache does not show is found, and released first", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(running, deleted))
		w.claimCache = w.through(blind())
		w.settled()
		if w.get(w.claim); w.claim.DeletionTimestamp == nil {
			t.Error("the claim is not being deleted")
		}
	})
	t.Run("a machine stays while it is not known whether it has a claim", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(deleted))
		w.Live = w.through(readsFail[*bmov1alpha1.HostClaim](errBroken))
		w.expect(w.fails(), "HostClaimReady/False/DeletionFailed", "cannot be read")
	})
	t.Run("a claim that cannot be deleted is named", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return errBroken
		}}, newCast(running, deleted))
		w.expect(w.fails(), "HostClaimReady/False/DeletionFailed", "cannot be deleted")
	})
}

// TestReconcileDeletionOfData shows how the claim for data is given up.
func TestReconcileDeletionOfData(t *testing.T) {
	tests := map[string]interceptor.Funcs{
		"after the claim for a host":                {},
		"though the cache does not show the object": readsFail[*infrav1.Metal3DataClaim](errNotFound),
	}
	for name, cache := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, newCast(deleted, withData))
			w.Client = w.through(cache)
			w.once()
			w.goes()
			w.get(w.dataClaim)
			if f := w.dataClaim.Finalizers; w.dataClaim.DeletionTimestamp == nil || len(f) != 1 || f[0] != infrav1.DataClaimFinalizer {
				t.Errorf("data claim is %v", w.dataClaim.ObjectMeta)
			}
		})
	}
	t.Run("a machine stays while it is not known whether it has one", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(deleted, withData))
		w.Client = w.through(readsFail[*infrav1.Metal3DataClaim](errNotFound))
		w.Live = w.through(readsFail[*infrav1.Metal3DataClaim](errBroken))
		w.expect(w.fails(), "AssociateMetal3MachineMetaData/False/DisassociateM3MetaDataFailed", "cannot be read")
	})
	t.Run("a write that comes too late is repeated", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(deleted, withData))
		w.Client = w.through(patchesFail[*infrav1.Metal3DataClaim](apierrors.NewConflict(schema.GroupResource{}, "m-1", errBroken)))
		w.settled()
		if w.get(w.dataClaim); w.dataClaim.DeletionTimestamp != nil {
			t.Error("the claim is deleted before our finalizer is off, which makes the next write conflict too")
		}
	})
}
