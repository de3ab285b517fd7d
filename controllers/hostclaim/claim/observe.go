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

package claim

import (
	"context"
	"fmt"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/index"
)

// observe reads from the caches what policies say of the claim and which host
// names it.
func (r *Reconciler) observe(ctx context.Context, s *scope) (err error) {
	if s.decision, err = r.Policies.Decide(ctx, s.claim.Namespace); err != nil {
		return err
	}
	if err := r.observeHosts(ctx, s); err != nil {
		return err
	}
	s.otherController = otherController(s.claim, s.host != nil)
	return nil
}

// observeHosts finds the hosts that have to do with the claim.
func (r *Reconciler) observeHosts(ctx context.Context, s *scope) error {
	own, err := r.hostsBy(ctx, index.HostsByConsumer, binding.ClaimKey(s.claim))
	if err != nil {
		return err
	}
	s.host = ownHost(s.claim, own)
	if s.host != nil {
		return nil
	}
	s.moved, err = r.hostsBy(ctx, index.HostsByMovedClaim, keyOf(s.claim).String())
	return err
}

func (r *Reconciler) hostsBy(ctx context.Context, index, value string) ([]bmov1alpha1.BareMetalHost, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := r.Client.List(ctx, hosts, client.MatchingFields{index: value}); err != nil {
		return nil, fmt.Errorf("list hosts of the claim by %s: %w", index, err)
	}
	return hosts.Items, nil
}

// ownHost returns the host of a claim among those that name it, nil if it is none of
// them. If the status was lost and several carry the traces of a bind, it is the first
// by name.
func ownHost(claim *bmov1alpha1.HostClaim, hosts []bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	var own *bmov1alpha1.BareMetalHost
	for i := range hosts {
		host := &hosts[i]
		if !binding.Has(claim, host) {
			continue
		}
		if own == nil || client.ObjectKeyFromObject(host).String() < client.ObjectKeyFromObject(own).String() {
			own = host
		}
	}
	return own
}

// nameless stands for a controller whose name cannot be seen.
const nameless = "unknown"

// otherController returns the name of another controller that works on a claim
// which we have not bound; empty when there is none.
//
// What the status says decides, since no tenant can write it: a host or a
// condition Associated without our mark is another one's work. Field managers
// only add to that, for a controller that has written neither yet; a tenant that
// may write the claim may also forge or erase them, which makes us stand down from
// that claim or miss a controller that has only begun, and nothing else.
//
// A claim whose host names it by UID was bound by us, and one that goes away is
// only let go of, so neither makes us stand down. Once we stood down we stay so,
// since our own condition takes the list of conditions over from the other one.
func otherController(claim *bmov1alpha1.HostClaim, ownHost bool) string {
	if ownHost || deleting(claim) {
		return ""
	}
	name := foreignManager(claim)
	stood := meta.IsStatusConditionTrue(claim.Status.Conditions, infrav1.StoodDownCondition)
	switch ours := marked(claim); {
	case stood, !ours && worked(claim):
		if name == "" {
			return nameless
		}
		return name
	case ours && claim.Status.BareMetalHost != nil:
		return ""
	default:
		return name
	}
}

// worked reports whether some controller has looked for a host for the claim.
func worked(claim *bmov1alpha1.HostClaim) bool {
	return claim.Status.BareMetalHost != nil ||
		meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.AssociatedCondition) != nil
}

// marked reports whether the status shows our own hand: a condition or reason that no
// other controller writes. The intent of a first bind comes before the condition.
func marked(claim *bmov1alpha1.HostClaim) bool {
	associated := meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.AssociatedCondition)
	return meta.FindStatusCondition(claim.Status.Conditions, infrav1.HardwareDataPublishedCondition) != nil ||
		(associated != nil && associated.Reason == infrav1.BindingReason)
}

// foreignManager returns one field manager of the status that is not ours.
// A status that was edited with kubectl shows no controller.
func foreignManager(claim *bmov1alpha1.HostClaim) string {
	for _, entry := range claim.ManagedFields {
		if entry.Subresource == "status" && entry.Manager != infrav1.HostClaimManagerFieldOwner &&
			!strings.HasPrefix(entry.Manager, "kubectl") {
			return entry.Manager
		}
	}
	return ""
}
