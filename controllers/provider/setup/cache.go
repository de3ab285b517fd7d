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

package setup

import (
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remediation"
)

// userAgent names the manager in the audit logs of API servers.
const userAgent = "cluster-api-provider-metal3-manager"

// CacheOptions returns what the cache of the management cluster holds. Secrets are in no cache:
// see ClientOptions.
func CacheOptions(o Options) cache.Options {
	// Not ByObject, which asks the API server about a kind before the manager starts:
	// a cluster without hosts does not know HardwareData.
	options := cache.Options{SyncPeriod: &o.SyncPeriod, DefaultTransform: strip}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	return options
}

// ClientOptions returns what is read past the cache.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
	}}
}

// clusterCacheOptions returns how workload clusters are reached; of their Nodes, the caches
// hold only what identifies them.
func clusterCacheOptions(o Options, kubeconfigs client.Reader) clustercache.Options {
	return clustercache.Options{
		SecretClient:     kubeconfigs,
		WatchFilterValue: o.WatchFilter,
		Cache: clustercache.CacheOptions{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: nodes.StripNode}},
			Indexes:          nodes.Indexes(),
		},
		Client: clustercache.ClientOptions{
			QPS:       o.Workload.QPS,
			Burst:     o.Workload.Burst,
			UserAgent: userAgent,
			Cache: clustercache.ClientCacheOptions{
				DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
			},
		},
	}
}

// strip drops what no controller reads: managed fields, most details of HardwareData, all of
// those that no claim owns, of which baremetal-operator has one for every server, and most
// annotations of remediations.
func strip(o any) (any, error) {
	o, err := cache.TransformStripManagedFields()(o)
	switch o := o.(type) {
	case *bmov1alpha1.HardwareData:
		if !slices.ContainsFunc(o.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.Kind == claims.Kind }) {
			o.Spec = bmov1alpha1.HardwareDataSpec{}
			o.Annotations, o.Labels = nil, nil
		}
		hardware.Strip(o)
	case *infrav1.Metal3Remediation:
		remediation.Strip(o)
	}
	return o, err
}
