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

package conversion

import (
	"cmp"
	"slices"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func clusterUp(in *v1beta1.Metal3Cluster, out *infrav1.Metal3Cluster) {
	out.Spec = clusterSpecUp(in.Spec)
	out.Status = infrav1.Metal3ClusterStatus{
		Conditions:     conditionsUp(in.Status.V1Beta2),
		Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: in.Status.Ready},
		FailureDomains: failureDomainsUp(in.Status.FailureDomains),
		LastUpdated:    in.Status.LastUpdated,
	}
	if s := in.Status; len(s.Conditions) > 0 || s.FailureReason != nil || s.FailureMessage != nil {
		out.Status.Deprecated = &infrav1.Metal3ClusterDeprecatedStatus{V1Beta1: &infrav1.Metal3ClusterV1Beta1DeprecatedStatus{
			Conditions: s.Conditions, FailureReason: s.FailureReason, FailureMessage: s.FailureMessage,
		}}
	}
}

func clusterDown(in *infrav1.Metal3Cluster, out *v1beta1.Metal3Cluster) {
	out.Spec = clusterSpecDown(in.Spec)
	out.Status = v1beta1.Metal3ClusterStatus{
		Ready:          in.Status.Initialization.Provisioned,
		FailureDomains: failureDomainsDown(in.Status.FailureDomains),
		LastUpdated:    in.Status.LastUpdated,
		V1Beta2:        conditionsDown(in.Status.Conditions),
	}
	if d := in.Status.Deprecated; d != nil && d.V1Beta1 != nil {
		out.Status.Conditions = d.V1Beta1.Conditions
		out.Status.FailureReason, out.Status.FailureMessage = d.V1Beta1.FailureReason, d.V1Beta1.FailureMessage
	}
}

func clusterTemplateUp(in *v1beta1.Metal3ClusterTemplate, out *infrav1.Metal3ClusterTemplate) {
	out.Spec.Template = infrav1.Metal3ClusterTemplateResource{
		ObjectMeta: in.Spec.Template.ObjectMeta, Spec: clusterSpecUp(in.Spec.Template.Spec),
	}
}

func clusterTemplateDown(in *infrav1.Metal3ClusterTemplate, out *v1beta1.Metal3ClusterTemplate) {
	out.Spec.Template = v1beta1.Metal3ClusterTemplateResource{
		ObjectMeta: in.Spec.Template.ObjectMeta, Spec: clusterSpecDown(in.Spec.Template.Spec),
	}
}

func clusterSpecUp(in v1beta1.Metal3ClusterSpec) infrav1.Metal3ClusterSpec {
	return infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint(in.ControlPlaneEndpoint),
		CloudProviderEnabled: cloudProviderUp(in),
		FailureDomains:       failureDomainsUp(in.FailureDomains),
		IdentityRef:          in.IdentityRef,
	}
}

func clusterSpecDown(in infrav1.Metal3ClusterSpec) v1beta1.Metal3ClusterSpec {
	return v1beta1.Metal3ClusterSpec{
		ControlPlaneEndpoint: v1beta1.APIEndpoint(in.ControlPlaneEndpoint),
		NoCloudProvider:      not(in.CloudProviderEnabled),
		CloudProviderEnabled: in.CloudProviderEnabled,
		FailureDomains:       failureDomainsDown(in.FailureDomains),
		IdentityRef:          in.IdentityRef,
	}
}

// cloudProviderUp takes noCloudProvider for what cloudProviderEnabled does not tell.
func cloudProviderUp(in v1beta1.Metal3ClusterSpec) *bool {
	if in.CloudProviderEnabled != nil {
		return in.CloudProviderEnabled
	}
	return not(in.NoCloudProvider)
}

func not(b *bool) *bool {
	if b == nil {
		return nil
	}
	return ptr.To(!*b)
}

func failureDomainsUp(in map[string]v1beta1.FailureDomain) []clusterv1.FailureDomain {
	var out []clusterv1.FailureDomain
	for name, domain := range in {
		out = append(out, clusterv1.FailureDomain{Name: name, ControlPlane: domain.ControlPlane, Attributes: domain.Attributes})
	}
	slices.SortFunc(out, func(a, b clusterv1.FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func failureDomainsDown(in []clusterv1.FailureDomain) map[string]v1beta1.FailureDomain {
	out := map[string]v1beta1.FailureDomain{}
	for _, domain := range in {
		out[domain.Name] = v1beta1.FailureDomain{ControlPlane: domain.ControlPlane, Attributes: domain.Attributes}
	}
	return out
}
