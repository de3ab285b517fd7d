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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// CacheOptions says what the cache of the manager holds.
//
// Claims keep their managed fields, by which another controller is noticed. Of
// HardwareData only those that we published are held, since baremetal-operator
// keeps one for every server. Namespaces are held as metadata. Secrets are in
// no cache at all.
func CacheOptions(o Options) (cache.Options, error) {
	ours, err := labels.NewRequirement(infrav1.ClaimUIDLabel, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	keep := func(object any) (any, error) { return object, nil }
	options := cache.Options{
		SyncPeriod:       &o.SyncPeriod,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&bmov1alpha1.HostClaim{}:     {Transform: keep},
			&bmov1alpha1.HardwareData{}:  {Label: labels.NewSelector().Add(*ours)},
			&bmov1alpha1.BareMetalHost{}: {Transform: stripHost},
		},
	}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	return options, nil
}

// ClientOptions says what is read past the cache.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}},
	}}
}

// stripHost drops what nobody reads. Hosts are written by merge patch, so what
// is missing here survives there.
func stripHost(object any) (any, error) {
	if host, ok := object.(*bmov1alpha1.BareMetalHost); ok {
		host.ManagedFields = nil
		delete(host.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	return object, nil
}
