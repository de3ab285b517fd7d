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

package machine

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// ExportLabels are the labels of a Secret that Refuses looks at.
func ExportLabels() []string {
	return []string{clusterv1.ClusterNameLabel, infrav1.UserDataLabel}
}

// refuses returns why a Secret must not be handed out under a key for the server of a Machine: next to the host,
// or to another cluster; empty if it may. Named is set if the Metal3Machine itself names the Secret. What the
// Machine names must be bootstrap data of this machine, since a user who writes a Machine need not have a right to
// read Secrets. What the Metal3Machine names must not be a bootstrap provider's Secret of another machine. The
// label UserDataLabel permits any Secret.
func refuses(owner *clusterv1.Machine, secret *corev1.Secret, key string, named bool) string {
	controller := metav1.GetControllerOfNoCopy(secret)
	byMachine := secret.Name == ptr.Deref(owner.Spec.Bootstrap.DataSecretName, "")
	_, own := secret.Data[key]
	switch {
	case secret.Labels[infrav1.UserDataLabel] == "true", refersTo(owner.Spec.Bootstrap.ConfigRef, controller):
		return ""
	case holdsCredentials(secret, owner.Spec.ClusterName):
		return refusal(secret.Name, "holds credentials of a Cluster")
	case ofCluster(secret, owner.Spec.ClusterName) && (controller == nil || byMachine && !owner.Spec.Bootstrap.ConfigRef.IsDefined()):
		return "" // without a bootstrap config of its own, a Machine may name the Secret of any
	case named && !byMachine && (own || secret.Type != clusterv1.ClusterSecretType):
		return ""
	default:
		return refusal(secret.Name, "is not known to be bootstrap data of this machine")
	}
}

func refusal(name, why string) string {
	return fmt.Sprintf("Secret %q %s: name another one, or, if its content may go to the server, give it the label %s=true",
		name, why, infrav1.UserDataLabel)
}

// ofCluster reports whether Cluster API or a bootstrap provider made the Secret for the Cluster.
func ofCluster(secret *corev1.Secret, cluster string) bool {
	return secret.Type == clusterv1.ClusterSecretType && secret.Labels[clusterv1.ClusterNameLabel] == cluster
}

// refersTo reports whether the reference is to the object that owns another one; nil is none.
func refersTo(ref clusterv1.ContractVersionedObjectReference, owner *metav1.OwnerReference) bool {
	return owner != nil && schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == ref.GroupKind() && owner.Name == ref.Name
}

// holdsCredentials reports whether a Secret has a name by which Cluster API keeps keys and kubeconfigs of the
// machine's Cluster, or of the one in the label.
func holdsCredentials(secret *corev1.Secret, cluster string) bool {
	for _, cluster := range []string{cluster, secret.Labels[clusterv1.ClusterNameLabel]} {
		purpose, found := strings.CutPrefix(secret.Name, cluster+"-")
		if cluster != "" && found && slices.Contains([]string{"kubeconfig", "ca", "etcd", "sa", "proxy", "apiserver-etcd-client"}, purpose) {
			return true
		}
	}
	return false
}
