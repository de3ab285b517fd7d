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

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// GroupVersion is the group and version under which the kinds are registered.
var GroupVersion = schema.GroupVersion{Group: infrav1.GroupName, Version: "v1beta1"}

// AddToScheme registers all kinds of this package with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Metal3Cluster{}, &Metal3ClusterList{},
		&Metal3ClusterTemplate{}, &Metal3ClusterTemplateList{},
		&Metal3Machine{}, &Metal3MachineList{},
		&Metal3MachineTemplate{}, &Metal3MachineTemplateList{},
		&Metal3DataTemplate{}, &Metal3DataTemplateList{},
		&Metal3DataClaim{}, &Metal3DataClaimList{},
		&Metal3Data{}, &Metal3DataList{},
		&Metal3Remediation{}, &Metal3RemediationList{},
		&Metal3RemediationTemplate{}, &Metal3RemediationTemplateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
