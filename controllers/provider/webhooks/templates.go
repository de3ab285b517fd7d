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
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// machineTemplateValidator refuses templates whose machines would be refused, and
// changes that no machine would follow.
func machineTemplateValidator() validator[*infrav1.Metal3MachineTemplate] {
	return validator[*infrav1.Metal3MachineTemplate]{
		kind: "Metal3MachineTemplate", problems: machineTemplateProblems, warnings: machineTemplateWarnings,
	}
}

func machineTemplateProblems(c change[*infrav1.Metal3MachineTemplate]) field.ErrorList {
	template, path := c.after.Spec.Template, field.NewPath("spec", "template")
	if c.created {
		return slices.Concat(metadataProblems(template.ObjectMeta, path.Child("metadata")),
			selectorProblems(template.Spec.HostSelector, path.Child("spec", "hostSelector")),
			foreign(c.after.Namespace, dataTemplatesOf(c.after)...))
	}
	before := c.before.Spec.Template
	var problems field.ErrorList
	if !reflect.DeepEqual(before.ObjectMeta, template.ObjectMeta) {
		problems = metadataProblems(template.ObjectMeta, path.Child("metadata"))
	}
	if !reflect.DeepEqual(before.Spec.HostSelector, template.Spec.HostSelector) {
		problems = append(problems, selectorProblems(template.Spec.HostSelector, path.Child("spec", "hostSelector"))...)
	}
	if named := dataTemplatesOf(c.after); !reflect.DeepEqual(dataTemplatesOf(c.before), named) {
		problems = append(problems, foreign(c.after.Namespace, named...)...)
	}
	if c.rehearsed {
		return problems
	}
	return append(problems, fixedProblems(before.Spec, template.Spec, path.Child("spec"))...)
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
	was, is := fieldsOf(before), fieldsOf(after)
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

// fieldsOf is the spec by its fields as they are written.
func fieldsOf(spec infrav1.Metal3MachineSpec) map[string]any {
	fields := map[string]any{}
	if text, err := json.Marshal(spec); err == nil {
		_ = json.Unmarshal(text, &fields)
	}
	return fields
}

// machineTemplateWarnings warns of fields with less effect than it seems, and of secrets that
// only machines of one namespace can use. Templates of a ClusterClass may serve another
// namespace than their own.
func machineTemplateWarnings(c change[*infrav1.Metal3MachineTemplate]) []string {
	path := field.NewPath("spec", "template", "spec")
	warnings := cleaningWarnings(c.after.Spec.Template.Spec, path)
	for _, r := range referencesOf(c.after.Spec.Template.Spec, path) {
		if r.what == "secrets" && r.namespace != "" && r.namespace != c.after.Namespace {
			warnings = append(warnings, fmt.Sprintf("%s is %q: machines of any other namespace, such as this one, are refused; leave it out",
				r.path.Child("namespace"), r.namespace))
		}
	}
	return warnings
}

// clusterTemplateValidator refuses templates whose clusters would be refused.
func clusterTemplateValidator() validator[*infrav1.Metal3ClusterTemplate] {
	return validator[*infrav1.Metal3ClusterTemplate]{
		kind: "Metal3ClusterTemplate",
		problems: func(c change[*infrav1.Metal3ClusterTemplate]) field.ErrorList {
			metadata := c.after.Spec.Template.ObjectMeta
			if !c.created && reflect.DeepEqual(c.before.Spec.Template.ObjectMeta, metadata) {
				return nil
			}
			path := field.NewPath("spec", "template", "metadata")
			return append(metadataProblems(metadata, path),
				prefixProblems(metadata.Annotations[infrav1.LabelSyncPrefixesAnnotation], path.Child("annotations"))...)
		},
	}
}

// metadataProblems finds labels and annotations that no object can have. The messages are those
// of Kubernetes. Entries are checked one by one, in the order of their keys, since there may be
// more of them than an answer can hold.
func metadataProblems(metadata clusterv1.ObjectMeta, path *field.Path) field.ErrorList {
	if apivalidation.ValidateAnnotationsSize(metadata.Annotations) != nil {
		return field.ErrorList{field.TooLong(path.Child("annotations"), "", apivalidation.TotalAnnotationSizeLimitB)}
	}
	return text.Problems(
		faults(metadata.Labels, func(key, value string) field.ErrorList {
			one := clusterv1.ObjectMeta{Labels: map[string]string{key: value}}
			return one.Validate(path)
		}),
		faults(metadata.Annotations, func(key, _ string) field.ErrorList {
			one := clusterv1.ObjectMeta{Annotations: map[string]string{key: ""}}
			return one.Validate(path)
		}))
}

// faults lists what is wrong with the entries of a map.
func faults(entries map[string]string, check func(key, value string) field.ErrorList) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			for _, fault := range check(key, entries[key]) {
				if !yield(fault) {
					return
				}
			}
		}
	}
}
