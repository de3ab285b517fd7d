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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// dataClaimValidator refuses claims on templates of other namespaces.
func dataClaimValidator() validator[*infrav1.Metal3DataClaim] {
	return validator[*infrav1.Metal3DataClaim]{
		kind: "Metal3DataClaim",
		problems: func(c change[*infrav1.Metal3DataClaim]) field.ErrorList {
			if !c.created && reflect.DeepEqual(c.before.Spec, c.after.Spec) {
				return nil
			}
			return foreign(c.after.Namespace, reference{
				path: field.NewPath("spec", "template"), namespace: namespaceOf(c.after.Spec.Template), what: "templates",
			})
		},
	}
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

// foreign finds references into other namespaces than that of the referring object.
func foreign(own string, references ...reference) field.ErrorList {
	var problems field.ErrorList
	for _, r := range references {
		if r.namespace != "" && r.namespace != own {
			problems = append(problems, field.Invalid(r.path.Child("namespace"), r.namespace, fmt.Sprintf(
				"only %s of the same namespace, %q, can be used: remove the field, and name one that is there", r.what, own)))
		}
	}
	return problems
}
