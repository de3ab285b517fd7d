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

package inplace

import (
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// ConfigName is the name of the KubeadmConfig of a Machine; empty if it has none.
func ConfigName(machine *clusterv1.Machine) string {
	if ref := machine.Spec.Bootstrap.ConfigRef; ref.APIGroup == bootstrapGroup && ref.Kind == "KubeadmConfig" {
		return ref.Name
	}
	return ""
}

// Held reports whether a KubeadmConfig is paused by an update in place.
func Held(config *bootstrapv1.KubeadmConfig) bool {
	return config.Annotations[clusterv1.PausedAnnotation] == infrav1.UpdatePause
}

// EndsHold reports whether new bootstrap data is to be made by a KubeadmConfig that an update in
// place holds. Awaited is the text of the rebuild that its server is empty for; empty if the
// server is not being rebuilt. While Cluster API updates the Machine, that has to be the text
// which the data is held for: a server that is empty for the change before is wiped again.
func EndsHold(config *bootstrapv1.KubeadmConfig, awaited string) bool {
	_, updating := config.Annotations[clusterv1.UpdateInProgressAnnotation]
	return Held(config) && (!updating || awaited != "" && awaited == config.Annotations[infrav1.RebuildAnnotation])
}
