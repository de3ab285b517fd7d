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

package cluster

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// kind is the kind of the objects of this controller.
const kind = "Metal3Cluster"

// Remote are the connections to the clusters that hold the hosts.
type Remote interface {
	// Site is the connection of a user, or an *identity.Problem. It never waits.
	Site(ctx context.Context, user remote.User, ref identity.Ref) (remote.Site, error)
	// Release gives the connection of a user up.
	Release(user remote.User)
	// Source wakes a controller for users of a kind.
	Source(kind string, mapUser func(ctx context.Context, user types.NamespacedName) []ctrl.Request) source.Source
}

// connect finds out whether the credentials of identityRef lead to hosts. Machines
// have connections of their own: this one tells the author of the reference, before
// the first machine needs it. While it is being made after a start of the manager,
// what was known before stands.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	user := remote.User{Kind: kind, NamespacedName: client.ObjectKeyFromObject(s.infra)}
	ref := s.infra.Spec.IdentityRef
	if ref == nil {
		r.Remote.Release(user)
		return nil
	}
	_, err := r.Remote.Site(ctx, user, identity.Of(s.infra.Namespace, ref))
	var problem *identity.Problem
	switch {
	case errors.As(err, &problem) && problem.Reason == infrav1.IdentityConnectingReason && conditions.Has(s.infra, infrav1.IdentityReadyCondition):
		s.identity = conditions.Get(s.infra, infrav1.IdentityReadyCondition).DeepCopy()
	case errors.As(err, &problem):
		s.identity = &metav1.Condition{Status: metav1.ConditionFalse, Reason: problem.Reason, Message: problem.Message}
	case err != nil:
		return fmt.Errorf("connect by Secret %s: %w", ref.Name, err)
	default:
		s.identity = &metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.IdentityConnectedReason}
	}
	return nil
}
