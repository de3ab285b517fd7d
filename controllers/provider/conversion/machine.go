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
	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func machineUp(in *v1beta1.Metal3Machine, out *infrav1.Metal3Machine) {
	s := in.Status
	out.Spec = machineSpecUp(in.Spec)
	out.Status = infrav1.Metal3MachineStatus{
		Conditions:     conditionsUp(s.V1Beta2),
		Initialization: infrav1.Metal3MachineInitializationStatus{Provisioned: s.Ready},
		Addresses:      s.Addresses,
		HostClaim:      s.HostClaim,
		NodeName:       s.NodeName,
		FailureDomain:  s.FailureDomain,
		UserData:       s.UserData,
		RenderedData:   refUp(s.RenderedData),
		MetaData:       s.MetaData,
		NetworkData:    s.NetworkData,
		LastUpdated:    s.LastUpdated,
	}
	if len(s.Conditions) > 0 || s.FailureReason != nil || s.FailureMessage != nil {
		out.Status.Deprecated = &infrav1.Metal3MachineDeprecatedStatus{V1Beta1: &infrav1.Metal3MachineV1Beta1DeprecatedStatus{
			Conditions: s.Conditions, FailureReason: s.FailureReason, FailureMessage: s.FailureMessage,
		}}
	}
}

func machineDown(in *infrav1.Metal3Machine, out *v1beta1.Metal3Machine) {
	s := in.Status
	out.Spec = machineSpecDown(in.Spec)
	out.Status = v1beta1.Metal3MachineStatus{
		Ready:         s.Initialization.Provisioned,
		Addresses:     s.Addresses,
		HostClaim:     s.HostClaim,
		NodeName:      s.NodeName,
		FailureDomain: s.FailureDomain,
		UserData:      s.UserData,
		RenderedData:  refDown(s.RenderedData),
		MetaData:      s.MetaData,
		NetworkData:   s.NetworkData,
		LastUpdated:   s.LastUpdated,
		V1Beta2:       conditionsDown(s.Conditions),
	}
	if d := s.Deprecated; d != nil && d.V1Beta1 != nil {
		out.Status.Conditions = d.V1Beta1.Conditions
		out.Status.FailureReason, out.Status.FailureMessage = d.V1Beta1.FailureReason, d.V1Beta1.FailureMessage
	}
}

func machineTemplateUp(in *v1beta1.Metal3MachineTemplate, out *infrav1.Metal3MachineTemplate) {
	out.Spec = infrav1.Metal3MachineTemplateSpec{
		Template: infrav1.Metal3MachineTemplateResource{
			ObjectMeta: in.Spec.Template.ObjectMeta, Spec: machineSpecUp(in.Spec.Template.Spec),
		},
		NodeReuse: in.Spec.NodeReuse, FailureDomainDataTemplates: in.Spec.FailureDomainDataTemplates,
	}
	out.Status = in.Status
}

func machineTemplateDown(in *infrav1.Metal3MachineTemplate, out *v1beta1.Metal3MachineTemplate) {
	out.Spec = v1beta1.Metal3MachineTemplateSpec{
		Template: v1beta1.Metal3MachineTemplateResource{
			ObjectMeta: in.Spec.Template.ObjectMeta, Spec: machineSpecDown(in.Spec.Template.Spec),
		},
		NodeReuse: in.Spec.NodeReuse, FailureDomainDataTemplates: in.Spec.FailureDomainDataTemplates,
	}
	out.Status = in.Status
}

func machineSpecUp(in v1beta1.Metal3MachineSpec) infrav1.Metal3MachineSpec {
	return infrav1.Metal3MachineSpec{
		ProviderID:            in.ProviderID,
		Image:                 (*infrav1.Image)(in.Image), // diskFormat has another name
		CustomDeploy:          in.CustomDeploy,
		UserData:              in.UserData,
		HostClass:             in.HostClass,
		HostSelector:          in.HostSelector,
		DataTemplate:          refUp(in.DataTemplate),
		MetaData:              in.MetaData,
		NetworkData:           in.NetworkData,
		AutomatedCleaningMode: in.AutomatedCleaningMode,
		FailureDomain:         in.FailureDomain,
		IdentityRef:           in.IdentityRef,
	}
}

func machineSpecDown(in infrav1.Metal3MachineSpec) v1beta1.Metal3MachineSpec {
	return v1beta1.Metal3MachineSpec{
		ProviderID:            in.ProviderID,
		Image:                 (*v1beta1.Image)(in.Image),
		CustomDeploy:          in.CustomDeploy,
		UserData:              in.UserData,
		HostClass:             in.HostClass,
		HostSelector:          in.HostSelector,
		DataTemplate:          refDown(in.DataTemplate),
		MetaData:              in.MetaData,
		NetworkData:           in.NetworkData,
		AutomatedCleaningMode: in.AutomatedCleaningMode,
		FailureDomain:         in.FailureDomain,
		IdentityRef:           in.IdentityRef,
	}
}
