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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// The manager writes marks on claims that the policy claim-marks keeps others from.
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims,verbs=manage

// Claim refuses HostClaims with requests that cannot be parsed. What was stored before does not
// hold up a change of something else.
type Claim struct{}

var _ admission.Validator[*bmov1alpha1.HostClaim] = Claim{}

// ValidateCreate refuses a new claim with a selector or a reboot that cannot be parsed.
func (Claim) ValidateCreate(_ context.Context, c *bmov1alpha1.HostClaim) (admission.Warnings, error) {
	return nil, brief(errors.Join(selectorFault(c), reboots(nil, c.Annotations)))
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
	return nil, brief(faults)
}

// ValidateDelete lets every claim go.
func (Claim) ValidateDelete(context.Context, *bmov1alpha1.HostClaim) (admission.Warnings, error) {
	return nil, nil
}

// selectorFault returns what cannot be parsed of the hosts that a claim asks for.
func selectorFault(c *bmov1alpha1.HostClaim) error {
	_, err := selection.Parse(c)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; correct it, or leave it out to take any host", err)
}

// reboots returns the new or changed annotations that ask for a reboot and cannot be parsed.
func reboots(before, after map[string]string) error {
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if value, found := before[key]; !asksForReboot(key) || (found && value == after[key]) {
			continue
		}
		if fault := rebootArguments(key, after[key]); fault != nil {
			faults = append(faults, fault)
		}
		if len(faults) == text.MaxFindings {
			break // more than fits into an answer
		}
	}
	return errors.Join(faults...)
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

// asksForReboot reports whether an annotation is one of those that ask for a reboot: the
// key of one that is carried out once, or of one that keeps the server off.
func asksForReboot(key string) bool {
	return key == bmov1alpha1.RebootAnnotationPrefix || strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix+"/")
}

// errReboot is how the arguments of a reboot are written.
var errReboot = errors.New(`leave the value empty, or write {"mode": "hard"} or {"mode": "soft"}, and with "force": true if need be`)

// rebootArguments returns what cannot be parsed of the value of an annotation that asks for a
// reboot. An empty value asks for the default.
func rebootArguments(key, value string) error {
	if value == "" {
		return nil
	}
	arguments := struct {
		Mode  *bmov1alpha1.RebootMode `json:"mode"`
		Force *bool                   `json:"force"`
	}{}
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&arguments)
	if err == nil && !errors.Is(decoder.Decode(&struct{}{}), io.EOF) {
		err = errTrailing
	}
	if err == nil && arguments.Mode != nil && *arguments.Mode != bmov1alpha1.RebootModeHard && *arguments.Mode != bmov1alpha1.RebootModeSoft {
		err = fmt.Errorf("mode %q is neither hard nor soft", *arguments.Mode)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("annotation %s %q is invalid (%w): %w", key, value, err, errReboot)
}

var errTrailing = errors.New("something follows the object")
