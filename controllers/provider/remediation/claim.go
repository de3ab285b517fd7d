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

package remediation

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/remediations"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// claimSteps read the claim of the machine and switch its server by it.
type claimSteps struct {
	client client.Client
	// live reads past the cache.
	live   client.Reader
	claims Claims
}

// observe reads the claim. One that cannot be read now, or does not exist, is a fact.
func (c claimSteps) observe(ctx context.Context, s *scope) progress.Outcome {
	s.claim, s.observed.Claim = nil, remediations.Claim{}
	if s.metal3Machine == nil {
		return progress.Outcome{}
	}
	site, readable, err := c.claims.SiteOf(ctx, s.metal3Machine)
	if err != nil {
		return progress.Failed(fmt.Errorf("find the HostClaim of Metal3Machine %s: %w", s.metal3Machine.Name, err))
	}
	if !readable {
		s.observed.Claim.Unknown = unreadable(s.metal3Machine)
		return progress.Outcome{}
	}
	claim, _, err := site.ClaimOf(ctx, s.metal3Machine)
	if err != nil {
		return progress.Failed(fmt.Errorf("read the HostClaim of Metal3Machine %s: %w", s.metal3Machine.Name, sanitized(site, err)))
	}
	s.claim, s.site = claim, site
	s.observed.Claim = remediations.ReadClaim(claim, s.remediation.Name)
	return progress.Outcome{}
}

// unreadable says why the claim of a machine cannot be read, as the machine itself says it.
func unreadable(machine *infrav1.Metal3Machine) string {
	for _, kind := range []string{infrav1.IdentityReadyCondition, infrav1.AssociateBareMetalHostCondition} {
		if c := conditions.Get(machine, kind); c != nil && c.Status == metav1.ConditionFalse && c.Message != "" {
			return "The HostClaim of the machine cannot be read now: " + c.Message
		}
	}
	return "The HostClaim of the machine cannot be read now: see the conditions of its Metal3Machine"
}

// powerOff holds the server off. The remediation is read past the cache first: one that is
// further than the cache shows has switched the server on again.
func (c claimSteps) powerOff(ctx context.Context, s *scope) error {
	seen := &infrav1.Metal3Remediation{}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(s.remediation), seen); err != nil {
		return fmt.Errorf("read the remediation again: %w", err)
	}
	if seen.ResourceVersion != s.remediation.ResourceVersion {
		return fmt.Errorf("switch the server off: %w", progress.ErrStale)
	}
	return c.annotate(ctx, s, func(claim *bmov1alpha1.HostClaim) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, remediations.Key(s.remediation.Name), remediations.HoldOff)
	})
}

// powerOn lets the server go.
func (c claimSteps) powerOn(ctx context.Context, s *scope) error {
	return c.annotate(ctx, s, func(claim *bmov1alpha1.HostClaim) {
		delete(claim.Annotations, remediations.Key(s.remediation.Name))
	})
}

// mark asks for the host to be kept out of the pool when it is released, or takes that back. A
// claim that is gone asks for nothing.
func (c claimSteps) mark(ctx context.Context, s *scope, unhealthy bool) error {
	if s.claim == nil || s.observed.Claim.Marked == unhealthy {
		return nil
	}
	return c.annotate(ctx, s, func(claim *bmov1alpha1.HostClaim) {
		delete(claim.Annotations, infrav1.UnhealthyClaimAnnotation)
		if unhealthy {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.UnhealthyClaimAnnotation, "true")
		}
	})
}

// annotate changes annotations of the claim, unless it has changed since it was read.
func (c claimSteps) annotate(ctx context.Context, s *scope, change func(*bmov1alpha1.HostClaim)) error {
	var writer client.Writer = c.client
	if s.site.Writer != nil {
		writer = s.site.Writer
	}
	after := s.claim.DeepCopy()
	change(after)
	if err := writer.Patch(ctx, after, apply.Locked(s.claim)); err != nil {
		return fmt.Errorf("write the HostClaim: %w", sanitized(s.site, err))
	}
	ctrl.LoggerFrom(ctx).Info("Wrote an annotation of the HostClaim", "HostClaim", klog.KObj(after))
	return nil
}

// confirm makes sure that the claim is as the decision saw it: a Node whose server runs must
// not be declared out of service, nor deleted.
func (c claimSteps) confirm(ctx context.Context, s *scope) error {
	reader := c.live
	if s.site.Live != nil {
		reader = s.site.Live
	}
	seen := &bmov1alpha1.HostClaim{}
	if err := reader.Get(ctx, client.ObjectKeyFromObject(s.claim), seen); err != nil {
		return fmt.Errorf("read the HostClaim again: %w", sanitized(s.site, err))
	}
	if seen.ResourceVersion != s.claim.ResourceVersion {
		return fmt.Errorf("confirm that the server is off: %w", progress.ErrStale)
	}
	return nil
}

// sanitized takes what another cluster chose to say out of its error.
func sanitized(site claimreader.Site, err error) error {
	if site.Record != nil {
		return remote.Sanitize(err)
	}
	return err
}
