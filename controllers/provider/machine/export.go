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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Exporter is the Machine for whose server a Secret leaves its namespace: next to the host,
// or to another cluster.
type Exporter struct {
	// Cluster is the name of its Cluster.
	Cluster string
	// Config is the bootstrap config that the Machine names; the zero value for none.
	Config clusterv1.ContractVersionedObjectReference
	// DataSecret is the Secret that the Machine names; empty for none.
	DataSecret string
}

// ExporterOf returns what is known of a Machine.
func ExporterOf(owner *clusterv1.Machine) Exporter {
	bootstrap := owner.Spec.Bootstrap
	e := Exporter{Cluster: owner.Spec.ClusterName, Config: bootstrap.ConfigRef}
	if bootstrap.DataSecretName != nil {
		e.DataSecret = *bootstrap.DataSecretName
	}
	return e
}

// ExportLabels are the labels of a Secret that Refuses looks at.
func ExportLabels() []string {
	return []string{clusterv1.ClusterNameLabel, infrav1.UserDataLabel}
}

// Refuses returns why a Secret must not be handed out under a key; empty if it may. Named is
// set if the Metal3Machine itself names the Secret. What the Machine names must be bootstrap
// data of this machine, since a user who writes a Machine need not have a right to read
// Secrets. What the Metal3Machine names must not be a bootstrap provider's Secret of another
// machine. The label UserDataLabel permits any Secret.
func (e Exporter) Refuses(secret *corev1.Secret, key string, named bool) string {
	_, own := secret.Data[key]
	switch {
	case secret.Labels[infrav1.UserDataLabel] == "true", e.owns(secret):
		return ""
	case e.credentials(secret):
		return refusal(secret.Name, "holds credentials of a Cluster")
	case e.ofCluster(secret) && !e.ofAnother(secret):
		return ""
	case named && secret.Name != e.DataSecret && (own || secret.Type != clusterv1.ClusterSecretType):
		return ""
	default:
		return refusal(secret.Name, "is not known to be bootstrap data of this machine")
	}
}

func refusal(name, why string) string {
	return fmt.Sprintf("Secret %q %s: name another one, or, if its content may go to the server, give it the label %s=true",
		name, why, infrav1.UserDataLabel)
}

// owns reports whether the bootstrap config of the Machine controls the Secret.
func (e Exporter) owns(secret *corev1.Secret) bool {
	owner := metav1.GetControllerOf(secret)
	if owner == nil || e.Config.Name == "" {
		return false
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && group.Group == e.Config.APIGroup && owner.Kind == e.Config.Kind && owner.Name == e.Config.Name
}

// ofCluster reports whether Cluster API or a bootstrap provider made the Secret for the
// Cluster.
func (e Exporter) ofCluster(secret *corev1.Secret) bool {
	return secret.Type == clusterv1.ClusterSecretType && e.Cluster != "" && secret.Labels[clusterv1.ClusterNameLabel] == e.Cluster
}

// ofAnother reports whether a bootstrap config of another machine controls the Secret. Without
// a config of its own, a Machine may name the Secret of any.
func (e Exporter) ofAnother(secret *corev1.Secret) bool {
	return metav1.GetControllerOf(secret) != nil && (e.Config.Name != "" || secret.Name != e.DataSecret)
}

// credentials reports whether a Secret has a name by which Cluster API keeps keys and
// kubeconfigs of the machine's Cluster, or of the one in the label.
func (e Exporter) credentials(secret *corev1.Secret) bool {
	for _, cluster := range []string{e.Cluster, secret.Labels[clusterv1.ClusterNameLabel]} {
		purpose, found := strings.CutPrefix(secret.Name, cluster+"-")
		if cluster != "" && found && slices.Contains([]string{"kubeconfig", "ca", "etcd", "sa", "proxy", "apiserver-etcd-client"}, purpose) {
			return true
		}
	}
	return false
}
