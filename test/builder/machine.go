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

package builder

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Cluster is a Cluster that has a Metal3Cluster of its name.
func Cluster(key types.NamespacedName) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupName, Kind: "Metal3Cluster", Name: key.Name,
		}},
	}
}

// Bootstrap is the Secret with the user data of all Machines of a Cluster, as a bootstrap
// provider makes it.
func Bootstrap(namespace, cluster string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "bootstrap", Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
		},
		Type: clusterv1.ClusterSecretType, Data: map[string][]byte{"value": []byte("#cloud-config\n{}\n")},
	}
}

// Machine is a Machine of a Cluster with bootstrap data and a Metal3Machine of its
// name.
func Machine(key types.NamespacedName, cluster string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName:       cluster,
			Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To("bootstrap")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "Metal3Machine", Name: key.Name},
		},
	}
}

// PausedMetal3Machine is the Metal3Machine of a Machine that exists, paused after it got
// its finalizer, so that the test and not the machine controller writes what belongs
// to it.
func PausedMetal3Machine(owner *clusterv1.Machine) *infrav1.Metal3Machine {
	return &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.Namespace, Name: owner.Name,
			Labels: owner.Labels, Annotations: map[string]string{clusterv1.PausedAnnotation: ""},
			Finalizers:      []string{infrav1.MachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{controller(clusterv1.GroupVersion.String(), "Machine", owner)},
		},
		Spec: infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "install"}},
	}
}

// DataClaim is the Metal3DataClaim by which the machine controller asks a template
// for the data of a Metal3Machine that exists.
func DataClaim(m *infrav1.Metal3Machine, template string) *infrav1.Metal3DataClaim {
	return &infrav1.Metal3DataClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, Finalizers: []string{infrav1.MachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{controller(infrav1.GroupVersion.String(), "Metal3Machine", m)},
		},
		Spec: infrav1.Metal3DataClaimSpec{Template: &infrav1.Metal3ObjectRef{Name: template}},
	}
}

func controller(apiVersion, kind string, owner metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true),
	}
}
