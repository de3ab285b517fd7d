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

package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

// The cluster's own record of what it was founded with.
const (
	configurationName = "kubeadm-config"
	configurationKey  = "ClusterConfiguration"
)

// writeConfiguration publishes the configuration that the cluster was founded
// with. A control plane that joined does not have it; what it can say is
// replaced when the founder, if it still exists, comes back too.
func (cl *cluster) writeConfiguration(ctx context.Context, m Machine) error {
	document := m.Plan.ClusterYAML
	if document == "" {
		document = fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: kubernetes\n"+
			"controlPlaneEndpoint: %s\nkubernetesVersion: %s\n", m.Plan.Endpoint, m.Node.KubeletVersion)
	}
	wanted := configMap(metav1.NamespaceSystem, configurationName, configurationKey, document)
	err := cl.create(ctx, wanted)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	data := wanted.Data
	return cl.change(ctx, wanted, func() { wanted.Data = data })
}

// version is the Kubernetes version that the cluster is configured for, which an
// upgrade changes before it replaces machines.
func (cl *cluster) version(ctx context.Context) (string, error) {
	record := &corev1.ConfigMap{}
	if err := cl.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: configurationName}, record); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	var config kubeadm.ClusterConfiguration
	if err := yaml.Unmarshal([]byte(record.Data[configurationKey]), &config); err != nil {
		return "", fmt.Errorf("ConfigMap %s: %w", configurationName, err)
	}
	return config.KubernetesVersion, nil
}
