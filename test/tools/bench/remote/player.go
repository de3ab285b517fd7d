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

package main

import (
	"context"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/hardware"
)

// hands is how many claims are served at a time.
const hands = 8

// player plays the hostclaim manager: it binds every claim at once, and says that
// the host runs what is asked for.
type player struct {
	*site.Site
	claims chan *bmov1alpha1.HostClaim
}

func newPlayer(s *site.Site) *player {
	return &player{Site: s, claims: make(chan *bmov1alpha1.HostClaim, 10000)}
}

// start serves claims until the context ends.
func (p *player) start(ctx context.Context) error {
	for range hands {
		go func() {
			for {
				select {
				case claim := <-p.claims:
					p.serve(ctx, claim)
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return p.Follow(ctx, &bmov1alpha1.HostClaimList{}, func(object any, _ time.Time) {
		if claim, ok := object.(*bmov1alpha1.HostClaim); ok {
			p.claims <- claim
		}
	})
}

// serve takes one step for a claim; its next version brings the next one.
func (p *player) serve(ctx context.Context, claim *bmov1alpha1.HostClaim) {
	var err error
	switch {
	case !meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.AssociatedCondition):
		err = p.bind(ctx, claim)
	case claim.Spec.CustomDeploy != nil && meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.ProvisionedCondition) == nil:
		err = p.report(ctx, client.ObjectKeyFromObject(claim), metav1.ConditionTrue, "")
	}
	// Another hand may have been faster with an older version.
	if client.IgnoreNotFound(client.IgnoreAlreadyExists(err)) != nil && ctx.Err() == nil {
		ctrl.Log.Error(err, "The hostclaim manager cannot be played", "claim", client.ObjectKeyFromObject(claim))
	}
}

func (p *player) bind(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name}}
	facts := builder.Published(claim, hardware.Of(host))
	// By which connections to other clusters tell facts of claims from others.
	facts.Labels = map[string]string{infrav1.ClaimUIDLabel: string(claim.UID)}
	if err := p.Create(ctx, facts); err != nil {
		return err
	}
	before := claim.DeepCopy()
	builder.Bind(claim)
	return p.Status().Patch(ctx, claim, client.MergeFrom(before))
}

// report says whether the host of a claim runs what is asked for.
func (p *player) report(ctx context.Context, key types.NamespacedName, status metav1.ConditionStatus, message string) error {
	claim := &bmov1alpha1.HostClaim{}
	if err := p.Get(ctx, key, claim); err != nil {
		return fmt.Errorf("read claim %s: %w", key, err)
	}
	before := claim.DeepCopy()
	for _, kind := range []string{bmov1alpha1.SynchronizedCondition, bmov1alpha1.ProvisionedCondition} {
		meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: "Played", Message: message, ObservedGeneration: claim.Generation,
		})
	}
	return p.Status().Patch(ctx, claim, client.MergeFrom(before))
}
