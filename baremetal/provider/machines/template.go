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

package machines

import (
	"fmt"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// dataTemplate is the Metal3DataTemplate of a machine that uses one, and the failure domain that it
// was chosen for; empty for the template that the machine names. A claim that exists keeps its
// template, since its index is one of that template. Before, the failure domain of the host decides.
func dataTemplate(o Observed) (ref infrav1.Metal3ObjectRef, domain string) {
	if o.Data.Template != "" {
		return infrav1.Metal3ObjectRef{Name: o.Data.Template}, o.Data.ChosenFor
	}
	domain = hostDomain(o)
	for _, entry := range o.Data.ByDomain {
		if domain != "" && entry.FailureDomain == domain {
			return entry.DataTemplate, domain
		}
	}
	return *o.Machine.Spec.DataTemplate, ""
}

// hostDomain is where the host is; empty when that is not known. Its network is that of the place where it
// is, and not of the one that was preferred. Without a published failure domain, a required one is
// known to be that of the host.
func hostDomain(o Observed) string {
	if o.HostDomain == "" && !o.Machine.SoftFailureDomain {
		return wanted(o).FailureDomain
	}
	return o.HostDomain
}

// foreignTemplate complains of a template of another namespace.
func foreignTemplate(namespace string, ref infrav1.Metal3ObjectRef, domain string) string {
	if ref.Namespace == "" || ref.Namespace == namespace {
		return ""
	}
	field := "spec.dataTemplate.namespace"
	if domain != "" {
		field = fmt.Sprintf("dataTemplate.namespace for failure domain %q in failureDomainDataTemplates of the Metal3MachineTemplate", domain)
	}
	return fmt.Sprintf("%s is %q: only templates of namespace %q can be used", field, ref.Namespace, namespace)
}
