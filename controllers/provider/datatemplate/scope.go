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

package datatemplate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/indexes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
)

// scope holds what one pass knows about one template. It holds facts only.
type scope struct {
	// key names the template, which may not exist.
	key types.NamespacedName
	// template is set by load; nil means that there is none of that name.
	template *infrav1.Metal3DataTemplate
	// claims and data are set by load: all that name the template. They share
	// memory with the cache and must not be changed.
	claims []infrav1.Metal3DataClaim
	data   []infrav1.Metal3Data
	// claimOf is the claim of each Metal3Data of the template, both by UID; set by match.
	claimOf map[types.UID]types.UID
	// taken are the indexes whose names Metal3Datas of other templates have; set by load.
	taken []indexes.Data
	// clusters are set by load: those that the claims and data belong to, by name.
	clusters map[string]*clusterv1.Cluster
}

// paused says whether the template itself is paused. Clusters that share it
// cannot pause it.
func (s *scope) paused() bool {
	return s.template != nil && pausing.Paused(s.template)
}

// suspended says whether a claim or a Metal3Data, or the Cluster that it belongs
// to, is paused.
func (s *scope) suspended(object client.Object) bool {
	return pausing.Paused(object, s.clusterOf(object))
}

// clusterOf is the Cluster that a claim or a Metal3Data belongs to; nil if there is
// none.
func (s *scope) clusterOf(object client.Object) *clusterv1.Cluster {
	return s.clusters[object.GetLabels()[clusterv1.ClusterNameLabel]]
}

// load reads the template, the claims on it and what was made from it. It finds
// nothing when the template is not ours to watch, or when nothing is left of it.
func (r *Reconciler) load(ctx context.Context, key types.NamespacedName) (*scope, bool, error) {
	s := &scope{key: key, clusters: map[string]*clusterv1.Cluster{}}
	template := &infrav1.Metal3DataTemplate{}
	switch err := r.Client.Get(ctx, key, template); {
	case client.IgnoreNotFound(err) != nil:
		return nil, false, fmt.Errorf("read Metal3DataTemplate: %w", err)
	case err == nil:
		s.template = template
	}
	if s.template != nil && r.WatchFilter != "" && !labels.HasWatchLabel(s.template, r.WatchFilter) {
		return nil, false, nil
	}
	var claims infrav1.Metal3DataClaimList
	var data infrav1.Metal3DataList
	if err := errors.Join(list(ctx, r.Client, key, &claims), list(ctx, r.Client, key, &data)); err != nil {
		return nil, false, err
	}
	s.claims = claims.Items
	s.sort(data.Items)
	s.match()
	found := s.template != nil || len(s.claims) > 0 || len(s.data) > 0
	return s, found, s.loadClusters(ctx, r.Client)
}

// sort tells the Metal3Datas of the template from those that only have such a name.
func (s *scope) sort(all []infrav1.Metal3Data) {
	for i := range all {
		if ref := all[i].Spec.Template; ref != nil && ref.Name == s.key.Name {
			s.data = append(s.data, all[i])
		} else if index, parsed := indexes.Parse(s.key.Name, all[i].Name); parsed {
			s.taken = append(s.taken, indexes.Data{Index: index})
		}
	}
}

// match finds the claim of each Metal3Data. One that has lost its controller is that of the
// claim which it names, unless that claim has, or was promised, another one: who makes a
// Metal3Data by hand takes no claim from its own.
func (s *scope) match() {
	s.claimOf = map[types.UID]types.UID{}
	served, lost := map[types.UID]bool{}, map[string][]*infrav1.Metal3Data{}
	for i := range s.data {
		data := &s.data[i]
		if owner := controllingClaim(data); owner != nil {
			s.claimOf[data.UID], served[owner.UID] = owner.UID, true
		} else if metav1.GetControllerOfNoCopy(data) == nil {
			lost[ClaimName(data)] = append(lost[ClaimName(data)], data)
		}
	}
	for i := range s.claims {
		claim := &s.claims[i]
		for _, data := range lost[claim.Name] {
			promised := ptr.Deref(claim.Status.RenderedData, infrav1.Metal3ObjectRef{Name: data.Name}).Name
			if !served[claim.UID] && promised == data.Name && MadeFor(data, claim) {
				s.claimOf[data.UID], served[claim.UID] = claim.UID, true
			}
		}
	}
}

// MadeFor reports whether a Metal3Data was made for a claim: its controller tells or, where that
// reference was lost, the names of claim and template in its spec. A claim that is younger than the
// deletion of the Metal3Data is a later one of that name.
func MadeFor(data *infrav1.Metal3Data, claim *infrav1.Metal3DataClaim) bool {
	if owner := controllingClaim(data); owner != nil {
		return owner.UID == claim.UID
	}
	later := !data.DeletionTimestamp.IsZero() && data.DeletionTimestamp.Before(&claim.CreationTimestamp)
	return ClaimName(data) == claim.Name && nameOf(data.Spec.Template) == nameOf(claim.Spec.Template) && !later
}

// ClaimName is the name of the claim that a Metal3Data was made for; empty if that is not known.
func ClaimName(data *infrav1.Metal3Data) string {
	if owner := controllingClaim(data); owner != nil {
		return owner.Name
	}
	return nameOf(data.Spec.Claim)
}

func nameOf(ref *infrav1.Metal3ObjectRef) string {
	return ptr.Deref(ref, infrav1.Metal3ObjectRef{}).Name
}

// MadeBy reports whether a claim is that of a Metal3Machine: its controller tells or, where that
// reference was lost, its name and the finalizer of machines. A machine that is younger than the
// deletion of the claim is a later one of that name.
func MadeBy(claim *infrav1.Metal3DataClaim, machine *infrav1.Metal3Machine) bool {
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		return owner.UID == machine.UID
	}
	later := !claim.DeletionTimestamp.IsZero() && claim.DeletionTimestamp.Before(&machine.CreationTimestamp)
	return claim.Name == machine.Name && slices.Contains(claim.Finalizers, infrav1.MachineFinalizer) && !later
}

// controllingClaim is the reference to the claim as controller; nil if it was lost.
func controllingClaim(data *infrav1.Metal3Data) *metav1.OwnerReference {
	if owner := metav1.GetControllerOfNoCopy(data); owner != nil && owner.Kind == claimKind {
		return owner
	}
	return nil
}

func list(ctx context.Context, reader client.Reader, key types.NamespacedName, into client.ObjectList) error {
	err := reader.List(ctx, into, client.InNamespace(key.Namespace), client.MatchingFields{ByTemplate: key.Name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list %T of the template: %w", into, err)
	}
	return nil
}

// loadClusters reads the Clusters that share the template.
func (s *scope) loadClusters(ctx context.Context, reader client.Reader) error {
	names := map[string]bool{}
	for i := range s.claims {
		names[s.claims[i].Labels[clusterv1.ClusterNameLabel]] = true
	}
	for i := range s.data {
		names[s.data[i].Labels[clusterv1.ClusterNameLabel]] = true
	}
	delete(names, "")
	for name := range names {
		var cluster clusterv1.Cluster
		err := reader.Get(ctx, types.NamespacedName{Namespace: s.key.Namespace, Name: name}, &cluster)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Cluster %s: %w", name, err)
		}
		s.clusters[name] = &cluster
	}
	return nil
}

// known are the indexes in use, as far as the cache shows.
func (s *scope) known() []indexes.Data {
	known := slices.Clone(s.taken)
	for i := range s.data {
		known = append(known, indexes.Data{Index: indexOf(&s.data[i]), Claim: s.claimOf[s.data[i].UID]})
	}
	return known
}

// indexOf is the index that a Metal3Data has.
func indexOf(data *infrav1.Metal3Data) int32 {
	return ptr.Deref(data.Spec.Index, 0)
}

// withClaim puts the claim into the logger.
func withClaim(ctx context.Context, claim *infrav1.Metal3DataClaim) context.Context {
	return ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Metal3DataClaim", klog.KObj(claim)))
}
