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

package webhooks

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// machineValidator refuses machines that could never get a host, or would lose the claim on the
// one that they have.
func machineValidator() validator[*infrav1.Metal3Machine] {
	return validator[*infrav1.Metal3Machine]{
		kind: "Metal3Machine", problems: machineProblems,
		warnings: func(c change[*infrav1.Metal3Machine]) []string {
			return cleaningWarnings(c.after.Spec, field.NewPath("spec"))
		},
	}
}

func machineProblems(c change[*infrav1.Metal3Machine]) field.ErrorList {
	path := field.NewPath("spec")
	var known []reference
	if !c.created {
		known = referencesOf(c.before.Spec, path)
	}
	references := slices.DeleteFunc(referencesOf(c.after.Spec, path), func(r reference) bool {
		return slices.ContainsFunc(known, func(k reference) bool { return reflect.DeepEqual(k, r) })
	})
	problems := foreign(c.after.Namespace, references...)
	if c.created {
		return append(problems, selectorProblems(c.after.Spec.HostSelector, path.Child("hostSelector"))...)
	}
	if !reflect.DeepEqual(c.before.Spec.HostSelector, c.after.Spec.HostSelector) {
		problems = append(problems, selectorProblems(c.after.Spec.HostSelector, path.Child("hostSelector"))...)
	}
	return append(problems, identityProblems(c.before, c.after.Spec.IdentityRef, path.Child("identityRef"))...)
}

// identityProblems keeps the identity of a machine that has a claim: the claim is where that
// identity led, and would not be found and deleted by another one.
func identityProblems(before *infrav1.Metal3Machine, after *infrav1.IdentityReference, path *field.Path) field.ErrorList {
	if reflect.DeepEqual(before.Spec.IdentityRef, after) || !hasClaim(before) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, after, fmt.Sprintf(
		"the machine has a claim on a host already, and %s: to renew credentials, change the content of the secret; "+
			"to take a host from elsewhere, delete the Machine, so that a new one is made", madeWith(before.Spec.IdentityRef)))}
}

// madeWith returns with whose credentials the claim was made, as far as the spec shows.
func madeWith(identity *infrav1.IdentityReference) string {
	switch {
	case identity == nil:
		return "it was made without an identityRef of the machine's own"
	case identity.Context == "":
		return fmt.Sprintf("it was made with secret %q", identity.Name)
	default:
		return fmt.Sprintf("it was made with secret %q and context %q", identity.Name, identity.Context)
	}
}

// hasClaim reports whether the machine has, or may have, a HostClaim. The annotations and the
// provider ID stay with it in a move; the status is what a machine shows whose claim is in its
// own namespace and has no host yet.
func hasClaim(machine *infrav1.Metal3Machine) bool {
	for _, key := range []string{infrav1.EffectiveIdentityAnnotation, infrav1.HostAnnotation} {
		if machine.Annotations[key] != "" {
			return true
		}
	}
	return machine.Spec.ProviderID != "" ||
		conditions.IsTrue(machine, infrav1.AssociateBareMetalHostCondition) ||
		slices.Contains([]string{infrav1.HostClaimNotBoundReason, infrav1.HostLostReason},
			conditions.GetReason(machine, infrav1.AssociateBareMetalHostCondition))
}

// cleaningWarnings warns of a cleaning mode that counts only where a host stays with its tenant.
func cleaningWarnings(spec infrav1.Metal3MachineSpec, path *field.Path) []string {
	if spec.AutomatedCleaningMode != infrav1.CleaningModeDisabled {
		return nil
	}
	return []string{fmt.Sprintf("%s is %q, which counts only while the host is kept for the next machine, by nodeReuse and where policy permits it: "+
		"a host that is given back is cleaned, since its next tenant may be another",
		path.Child("automatedCleaningMode"), spec.AutomatedCleaningMode)}
}
