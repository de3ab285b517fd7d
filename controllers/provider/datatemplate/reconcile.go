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

// Package datatemplate answers the Metal3DataClaims on a Metal3DataTemplate:
// each claim gets an index and a Metal3Data of the name <template>-<index>, and
// a claim that is deleted and no longer held by its machine loses them.
//
//	claim ─▶ finalizer ─▶ index reserved in the claim's status ─▶ Metal3Data created
//
// The reservation is written with the claim's resourceVersion and the name of
// the Metal3Data follows from the index, so a claim never gets two and an index
// is never given twice, however stale the cache is. Which index it is, is
// decided by assignIndexes. This package renders nothing.
package datatemplate

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconciler reconciles Metal3DataTemplates and the claims on them. All fields
// but WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache, with what it has written itself, and writes.
	Client client.Client
	// Live reads what must not come from a cache: which claim holds an index, and
	// whether a claim or its machine is gone.
	Live client.Reader
	// Clock tells the time.
	Clock clock.PassiveClock
	// AtOnce is how many claims on one template are served at a time; 0 means one.
	AtOnce int
	// WatchFilter restricts the controller to templates with this value of the
	// label cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string
}

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
	// used are the indexes that Metal3Datas have, those of other templates with such names included; set by load.
	used []holding
	// clusters are set by load: those that the claims and data belong to, by name.
	clusters map[string]*clusterv1.Cluster
}

// Reconcile brings the claims on one template a step closer to being answered. The claims on a
// template that does not exist report that. Each phase looks at all claims; one that fails does
// not stop the others.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		return ctrl.Result{}, err
	}
	switch {
	case s.paused():
		return ctrl.Result{}, errors.Join(r.answerClaims(ctx, s), r.finish(ctx, s))
	case s.template == nil:
		return ctrl.Result{}, errors.Join(r.releaseClaims(ctx, s), r.releaseOrphans(ctx, s), r.answerClaims(ctx, s))
	}
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, s.template, infrav1.DataTemplateFinalizer); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	return ctrl.Result{}, errors.Join(
		r.releaseClaims(ctx, s), r.releaseOrphans(ctx, s), r.answerClaims(ctx, s), r.restore(ctx, s), r.finish(ctx, s))
}

// paused reports whether the template itself is paused. Clusters that share it
// cannot pause it.
func (s *scope) paused() bool {
	return s.template != nil && conditions.IsPaused(s.template)
}

// suspended reports whether a claim or a Metal3Data, or the Cluster that it belongs
// to, is paused.
func (s *scope) suspended(object client.Object) bool {
	return conditions.IsPaused(object, s.clusterOf(object))
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
	case err == nil && r.WatchFilter != "" && !labels.HasWatchLabel(template, r.WatchFilter):
		return nil, false, nil
	case err == nil:
		s.template = template
	}
	var claims infrav1.Metal3DataClaimList
	var data infrav1.Metal3DataList
	for _, list := range []client.ObjectList{&claims, &data} {
		if err := r.Client.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{ByTemplate: key.Name},
			client.UnsafeDisableDeepCopy); err != nil {
			return nil, false, fmt.Errorf("list %T of the template: %w", list, err)
		}
	}
	s.claims = claims.Items
	s.match(data.Items)
	found := s.template != nil || len(s.claims) > 0 || len(s.data) > 0
	return s, found, s.loadClusters(ctx, r.Client)
}

// match separates the Metal3Datas of the template from those that only have such a name, and finds the claim of
// each. One that has lost its controller is that of the claim which it names, unless that claim has, or was
// promised, another one: a Metal3Data that is made by hand takes no claim from its own.
func (s *scope) match(all []infrav1.Metal3Data) {
	s.claimOf = map[types.UID]types.UID{}
	served, lost := map[types.UID]bool{}, map[string][]*infrav1.Metal3Data{}
	for i := range all {
		data := &all[i]
		if nameOf(data.Spec.Template) != s.key.Name {
			if index, parsed := parseIndex(s.key.Name, data.Name); parsed {
				s.used = append(s.used, holding{Index: index})
			}
			continue
		}
		s.data = append(s.data, *data)
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
	for i := range s.data {
		s.used = append(s.used, holding{Index: ptr.Deref(s.data[i].Spec.Index, 0), Claim: s.claimOf[s.data[i].UID]})
	}
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
