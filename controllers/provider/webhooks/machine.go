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
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// machineValidator refuses machines that could never get a host, or would lose the claim on the
// one that they have.
func machineValidator() validator[*infrav1.Metal3Machine] {
	path := field.NewPath("spec")
	return validator[*infrav1.Metal3Machine]{
		empty: &infrav1.Metal3Machine{},
		problems: func(c change[*infrav1.Metal3Machine]) field.ErrorList {
			return slices.Concat(
				foreign(c.after.Namespace, referencesOf(c.before.Spec, path), referencesOf(c.after.Spec, path)),
				selectorProblems(c.before.Spec.HostSelector, c.after.Spec.HostSelector, path.Child("hostSelector")),
				identityProblems(c.before, c.after.Spec.IdentityRef, path.Child("identityRef")),
				classProblems(c.before, c.after.Spec.HostClass, path.Child("hostClass")))
		},
		warnings: func(_ context.Context, c change[*infrav1.Metal3Machine]) []string {
			return specWarnings(c.after.Spec, path)
		},
	}
}

// machineTemplateValidator refuses templates whose machines would be refused, and
// changes that no machine would follow.
func machineTemplateValidator() validator[*infrav1.Metal3MachineTemplate] {
	return validator[*infrav1.Metal3MachineTemplate]{
		empty: &infrav1.Metal3MachineTemplate{}, problems: machineTemplateProblems, warnings: machineTemplateWarnings,
	}
}

func machineTemplateProblems(c change[*infrav1.Metal3MachineTemplate]) field.ErrorList {
	before, after, path := c.before.Spec.Template, c.after.Spec.Template, field.NewPath("spec", "template")
	problems := slices.Concat(
		metadataProblems(before.ObjectMeta, after.ObjectMeta, path.Child("metadata")),
		selectorProblems(before.Spec.HostSelector, after.Spec.HostSelector, path.Child("spec", "hostSelector")),
		foreign(c.after.Namespace, dataTemplatesOf(c.before), dataTemplatesOf(c.after)))
	if c.created || c.rehearsed {
		return problems
	}
	return append(problems, fixedProblems(before.Spec, after.Spec, path.Child("spec"))...)
}

// machineTemplateWarnings warns of fields with less effect than it seems, and of secrets that
// only machines of one namespace can use. Templates of a ClusterClass may serve another
// namespace than their own.
func machineTemplateWarnings(_ context.Context, c change[*infrav1.Metal3MachineTemplate]) []string {
	path := field.NewPath("spec", "template", "spec")
	warnings := specWarnings(c.after.Spec.Template.Spec, path)
	for _, r := range referencesOf(c.after.Spec.Template.Spec, path) {
		if r.what == "secrets" && r.namespace != "" && r.namespace != c.after.Namespace {
			warnings = append(warnings, fmt.Sprintf("%s is %q: machines of any other namespace, such as this one, are refused; leave it out",
				r.path.Child("namespace"), r.namespace))
		}
	}
	return warnings
}

// dataTemplatesOf lists the data templates that a template of machines names. None may be of another
// namespace: one that is left out is that of the machine, wherever a ClusterClass has the
// template copied to.
func dataTemplatesOf(template *infrav1.Metal3MachineTemplate) []reference {
	references := []reference{{
		field.NewPath("spec", "template", "spec", "dataTemplate"), namespaceOf(template.Spec.Template.Spec.DataTemplate), "templates",
	}}
	for i, entry := range template.Spec.FailureDomainDataTemplates {
		path := field.NewPath("spec", "failureDomainDataTemplates").Index(i)
		references = append(references, reference{path.Child("dataTemplate"), entry.DataTemplate.Namespace, "templates"})
	}
	return references
}

// fixedProblems finds changes of what machines are made from. Those that exist
// would not follow, and nothing would replace them. The cleaning mode is about the
// end of a machine, so it may change.
func fixedProblems(before, after infrav1.Metal3MachineSpec, path *field.Path) field.ErrorList {
	after.AutomatedCleaningMode = before.AutomatedCleaningMode
	if reflect.DeepEqual(before, after) {
		return nil
	}
	was, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&before)
	is, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&after)
	names := slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is)))
	slices.Sort(names)
	var problems field.ErrorList
	for _, name := range slices.Compact(names) {
		if !reflect.DeepEqual(was[name], is[name]) {
			problems = append(problems, field.Invalid(path.Child(name), is[name],
				"cannot be changed: make a new Metal3MachineTemplate, and name it instead of this one, so that machines are replaced"))
		}
	}
	return problems
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

// classProblems refuses another class for a machine that has a claim.
func classProblems(before *infrav1.Metal3Machine, after *infrav1.HostClass, path *field.Path) field.ErrorList {
	if reflect.DeepEqual(before.Spec.HostClass, after) || before.Status.HostClaim == nil && !hasClaim(before) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, after, "the machine has a claim of its class already: "+
		"to have another class, name it in a new Metal3MachineTemplate, which replaces the Machines")}
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

// specWarnings warns of fields with less effect than it seems.
func specWarnings(spec infrav1.Metal3MachineSpec, path *field.Path) []string {
	var warnings []string
	if spec.AutomatedCleaningMode == infrav1.CleaningModeDisabled {
		warnings = append(warnings, fmt.Sprintf("%s is %q, which counts only while the host is kept for the next machine, by nodeReuse and where policy permits it: "+
			"a host that is given back is cleaned, since its next tenant may be another",
			path.Child("automatedCleaningMode"), spec.AutomatedCleaningMode))
	}
	if spec.UserData != nil {
		warnings = append(warnings, fmt.Sprintf("%s has no effect, as with CAPM3: the server gets the bootstrap data of the Machine", path.Child("userData")))
	}
	return warnings
}

// selectorProblems finds what the hostclaim manager would not understand of the
// claim that a machine with the selector makes. It is the same code.
func selectorProblems(before, after *infrav1.HostSelector, path *field.Path) field.ErrorList {
	err := selection.CheckNew(claims.Desired(claims.Wanted{Selector: after}))
	var faults interface{ Unwrap() []error }
	if reflect.DeepEqual(before, after) || !errors.As(err, &faults) {
		return nil
	}
	var problems field.ErrorList
	for _, fault := range faults.Unwrap() {
		if invalid, ok := errors.AsType[*selection.InvalidError](fault); ok {
			problems = append(problems, &field.Error{
				Type: field.ErrorTypeInvalid, BadValue: field.OmitValueType{},
				Field:  path.String() + strings.TrimPrefix(invalid.Field, "spec.hostSelector"),
				Detail: invalid.Problem + "; correct it, or leave it out to take any host",
			})
		}
	}
	return problems
}

// reference is the mention of another object.
type reference struct {
	path      *field.Path
	namespace string
	// what the object is one of, in the plural.
	what string
}

// referencesOf lists what the spec of a machine refers to.
func referencesOf(spec infrav1.Metal3MachineSpec, path *field.Path) []reference {
	secret := func(name string, ref *corev1.SecretReference) reference {
		return reference{path.Child(name), ptr.Deref(ref, corev1.SecretReference{}).Namespace, "secrets"}
	}
	return []reference{
		secret("userData", spec.UserData),
		secret("metaData", spec.MetaData),
		secret("networkData", spec.NetworkData),
		{path.Child("dataTemplate"), namespaceOf(spec.DataTemplate), "templates"},
	}
}

func namespaceOf(ref *infrav1.Metal3ObjectRef) string {
	return ptr.Deref(ref, infrav1.Metal3ObjectRef{}).Namespace
}

// foreign finds new references into other namespaces than that of the referring object.
func foreign(own string, before, after []reference) field.ErrorList {
	var problems field.ErrorList
	for _, r := range after {
		known := slices.ContainsFunc(before, func(b reference) bool { return reflect.DeepEqual(b, r) })
		if r.namespace != "" && r.namespace != own && !known {
			problems = append(problems, field.Invalid(r.path.Child("namespace"), r.namespace, fmt.Sprintf(
				"only %s of the same namespace, %q, can be used: remove the field, and name one that is there", r.what, own)))
		}
	}
	return problems
}
