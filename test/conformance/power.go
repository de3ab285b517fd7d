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

package conformance

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func power(ctx context.Context, s *scene) error {
	claim, _, err := s.served(ctx, "machine")
	if err != nil {
		return err
	}
	for _, on := range []bool{false, true} {
		if err := s.edit(ctx, claim, func() { claim.Spec.PoweredOn = on }); err != nil {
			return err
		}
		if err := s.reportsPower(ctx, claim, on); err != nil {
			return err
		}
	}
	_, err = s.serve(ctx, claim)
	return err
}

// reportsPower waits until a claim says that its machine is on, or off. It brings the claim up to date.
func (s *scene) reportsPower(ctx context.Context, claim *bmov1alpha1.HostClaim, on bool) error {
	return s.await(ctx, fmt.Sprintf("status.poweredOn=%t", on), func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Status.PoweredOn != on {
			return fmt.Errorf("it is %t", claim.Status.PoweredOn)
		}
		return nil
	})
}

// hold has a machine off as a remediation does.
func hold(ctx context.Context, s *scene) error {
	claim, before, err := s.served(ctx, "machine")
	if err != nil {
		return err
	}
	const key = bmov1alpha1.RebootAnnotationPrefix + "/conformance"
	if err := s.edit(ctx, claim, func() { metav1.SetMetaDataAnnotation(&claim.ObjectMeta, key, "") }); err != nil {
		return err
	}
	if err := s.reportsPower(ctx, claim, false); err != nil {
		return fmt.Errorf("as annotation %s was set: %w", key, err)
	}
	if err := s.stays(ctx, func(ctx context.Context) error {
		now := &bmov1alpha1.HostClaim{}
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), now); err != nil {
			return err
		}
		if now.Status.PoweredOn {
			return fmt.Errorf("the machine is on again, and annotation %s holds it off", key)
		}
		return s.hasStill(claim, before)(ctx)
	}); err != nil {
		return err
	}
	if err := s.edit(ctx, claim, func() { delete(claim.Annotations, key) }); err != nil {
		return err
	}
	if err := s.reportsPower(ctx, claim, true); err != nil {
		return fmt.Errorf("as annotation %s was taken away: %w", key, err)
	}
	_, err = s.serve(ctx, claim)
	return err
}

// empty has a machine off as it gets its image for the first time, and again as a rebuild of a Metal3Machine does: what it
// is to boot with is known when it is switched on.
func empty(ctx context.Context, s *scene) error {
	claim, err := s.claim(ctx, "machine", func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false })
	if err != nil {
		return err
	}
	if err := s.isEmpty(ctx, claim); err != nil {
		return err
	}
	if err := s.edit(ctx, claim, func() { claim.Spec.PoweredOn = true }); err != nil {
		return err
	}
	before, err := s.serve(ctx, claim)
	if err != nil {
		return err
	}
	if err := s.edit(ctx, claim, func() {
		claim.Spec.PoweredOn = false
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.RebuildAnnotation, "again")
	}); err != nil {
		return err
	}
	if err := s.isEmpty(ctx, claim); err != nil {
		return fmt.Errorf("as a rebuild was asked for of a machine that is to be off: %w", err)
	}
	if err := s.edit(ctx, claim, func() { claim.Spec.PoweredOn, claim.Spec.UserData.Name = true, "late" }); err != nil {
		return err
	}
	if err := s.says(ctx, claim, bmov1alpha1.SynchronizedCondition, metav1.ConditionFalse); err != nil {
		return fmt.Errorf("as the machine is to boot with another Secret, which does not exist: %w", err)
	}
	if err := s.client.Create(ctx, bootSecret(s.namespace, "late")); err != nil {
		return err
	}
	after, err := s.serve(ctx, claim)
	if err == nil && after != before {
		err = fmt.Errorf("a claim had machine %v, and has %v after a rebuild", before, after)
	}
	return err
}

// isEmpty waits until the machine of a claim has no image, and sees that it gets none.
func (s *scene) isEmpty(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	if err := s.says(ctx, claim, bmov1alpha1.AvailableForProvisioningCondition, metav1.ConditionTrue); err != nil {
		return err
	}
	return s.stays(ctx, func(ctx context.Context) error {
		machines, err := s.machinesOf(ctx, claim.UID)
		if err == nil && (len(machines) != 1 || machines[0].Image != "") {
			err = fmt.Errorf("a claim whose machine is to be off has %v, and should have one without an image", machines)
		}
		return err
	})
}
