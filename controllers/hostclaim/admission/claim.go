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

package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// The manager writes marks on claims that the policy claim-marks keeps others from.
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims,verbs=manage

// Claim refuses HostClaims with requests that cannot be parsed or carried out, and all that the webhook of
// baremetal-operator 0.14 refuses, so that a claim is judged the same where that is not installed. What was stored
// before does not hold up a change of something else.
type Claim struct{}

var _ admission.Validator[*bmov1alpha1.HostClaim] = Claim{}

// ValidateCreate refuses a new claim with a selector, an image or a reboot that nobody could follow.
func (Claim) ValidateCreate(_ context.Context, c *bmov1alpha1.HostClaim) (admission.Warnings, error) {
	return nil, brief(errors.Join(selectorFault(c), binding.CheckPayload(c), reboots(nil, c.Annotations)))
}

// ValidateUpdate refuses what a change brings in. A claim that is going away may
// always be changed, or its finalizers could not be removed.
func (Claim) ValidateUpdate(_ context.Context, before, c *bmov1alpha1.HostClaim) (admission.Warnings, error) {
	if !c.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	faults := reboots(before.Annotations, c.Annotations)
	if before.Spec.FailureDomain != c.Spec.FailureDomain ||
		!equality.Semantic.DeepEqual(before.Spec.HostSelector, c.Spec.HostSelector) {
		faults = errors.Join(selectorFault(c), faults)
	}
	if !equality.Semantic.DeepEqual(before.Spec.Image, c.Spec.Image) ||
		!equality.Semantic.DeepEqual(before.Spec.CustomDeploy, c.Spec.CustomDeploy) {
		faults = errors.Join(faults, binding.CheckPayload(c))
	}
	return nil, brief(faults)
}

// ValidateDelete lets every claim go.
func (Claim) ValidateDelete(context.Context, *bmov1alpha1.HostClaim) (admission.Warnings, error) {
	return nil, nil
}

// selectorFault returns what cannot be parsed of the hosts that a claim asks for.
func selectorFault(c *bmov1alpha1.HostClaim) error {
	err := selection.CheckNew(c)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; correct it, or leave it out to take any host", err)
}

// reboots returns the new or changed annotations that ask for a reboot and cannot be parsed. A request is not
// the tenant's, and one that was forged does not hold up a claim that is moved or restored.
func reboots(before, after map[string]string) error {
	changed := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Annotations: maps.Clone(after)}}
	maps.DeleteFunc(changed.Annotations, func(key, value string) bool {
		old, found := before[key]
		return key == infrav1.RebootRequestAnnotation || found && old == value
	})
	if invalid := binding.ReadReboots(changed).Invalid; len(invalid) > 0 {
		return errors.New(strings.Join(invalid, "; "))
	}
	return nil
}

// maxText is how many bytes a refusal may have: it repeats what a tenant wrote.
const maxText = 2048

// brief puts all faults on one line, and leaves out what is too much to read.
func brief(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(text.Shorten(strings.ReplaceAll(err.Error(), "\n", "; "), maxText))
}
