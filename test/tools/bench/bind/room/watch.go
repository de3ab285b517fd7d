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

package room

import (
	"context"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// What the timelines note.
const (
	// Bound is a claim with a host.
	Bound site.Mark = "bound"
	// Explained is a claim that was told why it has none.
	Explained site.Mark = "explained"
	// Available is a late host that may be claimed.
	Available site.Mark = "available"
	// Claimed is a host that some claim is bound to.
	Claimed site.Mark = "claimed"
)

// LateLabel is on the hosts whose times are noted.
const LateLabel = "late"

// watch fills the timelines until ctx ends.
func (r *Room) watch(ctx context.Context) error {
	if err := r.Follow(ctx, &bmov1alpha1.HostClaimList{}, r.see); err != nil {
		return err
	}
	return r.Follow(ctx, &bmov1alpha1.BareMetalHostList{}, r.see, client.HasLabels{LateLabel})
}

func (r *Room) see(object any, now time.Time) {
	switch o := object.(type) {
	case *bmov1alpha1.HostClaim:
		key := client.ObjectKeyFromObject(o)
		switch c := meta.FindStatusCondition(o.Status.Conditions, bmov1alpha1.AssociatedCondition); {
		case c == nil:
		case c.Status == metav1.ConditionTrue:
			r.Claims.Note(Bound, key, now)
			if host := o.Status.BareMetalHost; host != nil {
				r.Hosts.Note(Claimed, types.NamespacedName{Namespace: host.Namespace, Name: host.Name}, now)
			}
		case c.Status == metav1.ConditionFalse:
			r.Claims.Note(Explained, key, now)
		}
	case *bmov1alpha1.BareMetalHost:
		if o.Status.Provisioning.State == bmov1alpha1.StateAvailable {
			r.Hosts.Note(Available, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, now)
		}
	}
}
