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
	"context"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// CacheOptions returns what the cache of the manager holds.
//
// Hosts are held without the fields on which no decision depends. Claims keep the names of
// their field managers, by which another controller is noticed. Of HardwareData only those that
// were published for claims are held, since baremetal-operator keeps one for every server, and with a hash
// instead of the hardware. Namespaces are held as metadata. Secrets are in no cache at all.
//
// Claims for another manager, by the label of --watch-filter, are not held. That a claim does
// not exist is believed from the API server alone, so the hosts of those are left to it.
func CacheOptions(o Options) cache.Options {
	ours := &client.ListOptions{}
	client.HasLabels{infrav1.ClaimUIDLabel}.ApplyToList(ours)
	options := cache.Options{
		SyncPeriod:       &o.SyncPeriod,
		DefaultTransform: strip,
		ByObject: map[client.Object]cache.ByObject{
			&bmov1alpha1.HostClaim{}:    {Label: watched(o)},
			&bmov1alpha1.HardwareData{}: {Label: ours.LabelSelector},
		},
	}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
		options.ByObject[watch.Namespace()] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", o.Namespace)}
	}
	return options
}

// watched selects the objects that --watch-filter lets through; nil selects all.
func watched(o Options) labels.Selector {
	if o.WatchFilter == "" {
		return nil
	}
	return labels.SelectorFromSet(labels.Set{clusterv1.WatchLabel: o.WatchFilter})
}

// foreignFacts adds a cache of the names of all HardwareData that was not
// published for a claim. One of them may have the name under which the facts of a claim's host
// are to be published, and when it goes, the claim is woken. There is one for
// every server, so nothing but the name is held.
func foreignFacts(mgr ctrl.Manager, o Options) (cache.Cache, error) {
	others, err := labels.NewRequirement(infrav1.ClaimUIDLabel, selection.DoesNotExist, nil)
	if err != nil {
		return nil, err
	}
	options := cache.Options{
		HTTPClient:           mgr.GetHTTPClient(),
		Scheme:               mgr.GetScheme(),
		Mapper:               mgr.GetRESTMapper(),
		DefaultLabelSelector: labels.NewSelector().Add(*others),
		DefaultTransform:     stripToName,
	}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	names, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("cache of foreign HardwareData: %w", err)
	}
	return names, mgr.Add(names)
}

// factsMetadata is a HardwareData of which only the metadata is read.
func factsMetadata() *metav1.PartialObjectMetadata {
	data := &metav1.PartialObjectMetadata{}
	data.SetGroupVersionKind(bmov1alpha1.GroupVersion.WithKind("HardwareData"))
	return data
}

// stripToName keeps what identifies an object and its version.
func stripToName(object any) (any, error) {
	if data, ok := object.(*metav1.PartialObjectMetadata); ok {
		data.ObjectMeta = metav1.ObjectMeta{
			Namespace: data.Namespace, Name: data.Name, UID: data.UID, ResourceVersion: data.ResourceVersion,
		}
	}
	return object, nil
}

// ClientOptions returns what is read past the cache.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}},
	}}
}

// strip drops the fields on which no decision depends: of hosts, which are written by a merge patch between
// two copies that both lack them, the hardware of published facts but for its hash, and of claims which fields
// their field managers wrote.
func strip(object any) (any, error) {
	switch object := object.(type) {
	case *bmov1alpha1.BareMetalHost:
		stripMetadata(object)
		binding.StripHost(object)
	case *bmov1alpha1.HardwareData:
		stripMetadata(object)
		binding.StripFacts(object)
	case *bmov1alpha1.HostClaim:
		managers := object.ManagedFields
		for i := range managers {
			managers[i].FieldsV1 = nil
		}
		stripMetadata(object)
		object.ManagedFields = managers
	default:
		return cache.TransformStripManagedFields()(object)
	}
	return object, nil
}

// stripMetadata drops what only kubectl and the API server look at. The annotation of kubectl stays,
// empty: a merge patch that takes the last annotation of a cached object off takes off all that it has.
func stripMetadata(object client.Object) {
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		annotations[corev1.LastAppliedConfigAnnotation] = ""
	}
}

// movedKinds are the CustomResourceDefinitions whose objects move with a claim, sorted.
var movedKinds = [...]string{"baremetalhosts.metal3.io", "hardwaredata.metal3.io", "hostclaims.metal3.io"}

// moveKinds holds the metadata of movedKinds, and of further definitions. Each has a cache of its own,
// since the manager may watch these by name and no others, and a cache selects one name.
type moveKinds struct {
	caches map[string]cache.Cache
}

// newMoveKinds adds the caches to the manager.
func newMoveKinds(mgr ctrl.Manager, more ...string) (*moveKinds, error) {
	k := &moveKinds{caches: map[string]cache.Cache{}}
	for _, name := range slices.Concat(movedKinds[:], more) {
		var err error
		k.caches[name], err = cache.New(mgr.GetConfig(), cache.Options{
			HTTPClient:           mgr.GetHTTPClient(),
			Scheme:               mgr.GetScheme(),
			Mapper:               mgr.GetRESTMapper(),
			DefaultFieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name),
			DefaultTransform:     cache.TransformStripManagedFields(),
		})
		if err != nil {
			return nil, fmt.Errorf("cache of CustomResourceDefinition %s: %w", name, err)
		}
		if err := mgr.Add(k.caches[name]); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Unlabeled implements claim.MoveKinds.
func (k *moveKinds) Unlabeled(ctx context.Context) ([]string, error) {
	var out []string
	for _, name := range movedKinds {
		crd := watch.CRD()
		if err := k.caches[name].Get(ctx, client.ObjectKey{Name: name}, crd); client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if _, found := crd.Labels[infrav1.ClusterctlLabel]; !found {
			out = append(out, name)
		}
	}
	return out, nil
}

// sources wake claims when one of the definitions changes.
func (k *moveKinds) sources(claims handler.MapFunc) []source.Source {
	var out []source.Source
	for _, name := range movedKinds {
		out = append(out, source.Kind[client.Object](k.caches[name], watch.CRD(), handler.EnqueueRequestsFromMapFunc(claims)))
	}
	return out
}
