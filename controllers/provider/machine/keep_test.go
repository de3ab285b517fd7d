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
	"fmt"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// TestKeepAfterACrash interrupts the change to an identityRef between its two writes. The
// machine finds its claim by the record, and clusterctl moves neither before both are done.
func TestKeepAfterACrash(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running, withRemoteHost))
	if _, err := w.settle(); err != nil {
		t.Fatal(err)
	}
	broken := true
	w.Remote = siteIn(t, &server, w.namespace, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, isClaim := o.(*bmov1alpha1.HostClaim); isClaim && broken {
				return errBroken
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	annotate(w, w.claim, infrav1.BlockMoveAnnotation, infrav1.HostClaimManagerFieldOwner)
	annotate(w, w.machine, infrav1.KeepClaimsHereAnnotation, "true")

	m, err := w.settle()
	if err == nil || m.Annotations[infrav1.EffectiveIdentityAnnotation] == "" {
		t.Fatalf("the error is %v, and the machine has the annotations %v", err, m.Annotations)
	}
	w.get(w.claim)
	if !claims.OwnedBy(w.claim, claimreader.OwnerOf(m)) || m.Annotations[infrav1.BlockMoveAnnotation] == "" {
		t.Errorf("owners of the claim are %v, annotations of the machine %v", w.claim.OwnerReferences, m.Annotations)
	}

	broken = false
	if m, err = w.settle(); err != nil {
		t.Fatal(err)
	}
	w.expect(m, "IdentityReady/True/Connected", "stays where it is")
	w.get(w.claim)
	if len(w.claim.OwnerReferences) > 0 || w.claim.Labels[infrav1.OriginKey] != m.Annotations[infrav1.OriginKey] {
		t.Errorf("owners of the claim are %v, labels %v", w.claim.OwnerReferences, w.claim.Labels)
	}
	if m.Annotations[infrav1.BlockMoveAnnotation] != "" {
		t.Error("the machine cannot be moved without its claim")
	}
}

// annotate adds an annotation to an object as it is now.
func annotate(w *world, o client.Object, key, value string) {
	w.t.Helper()
	w.get(o)
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value))
	if err := w.server.Client.Patch(w.t.Context(), o, patch); err != nil {
		w.t.Fatal(err)
	}
}
