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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// movedKinds are the CustomResourceDefinitions whose objects move with a claim, sorted.
var movedKinds = [...]string{"baremetalhosts.metal3.io", "hardwaredata.metal3.io", "hostclaims.metal3.io"}

// moveKinds holds the metadata of movedKinds. Each has a cache of its own, since the
// manager may watch these by name and no others, and a cache selects one name.
type moveKinds struct {
	caches [len(movedKinds)]cache.Cache
}

// newMoveKinds adds the caches to the manager.
func newMoveKinds(mgr ctrl.Manager) (*moveKinds, error) {
	k := &moveKinds{}
	for i, name := range movedKinds {
		var err error
		k.caches[i], err = cache.New(mgr.GetConfig(), cache.Options{
			HTTPClient:           mgr.GetHTTPClient(),
			Scheme:               mgr.GetScheme(),
			Mapper:               mgr.GetRESTMapper(),
			DefaultFieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name),
			DefaultTransform:     cache.TransformStripManagedFields(),
		})
		if err != nil {
			return nil, fmt.Errorf("cache of CustomResourceDefinition %s: %w", name, err)
		}
		if err := mgr.Add(k.caches[i]); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Unlabeled implements claim.MoveKinds.
func (k *moveKinds) Unlabeled(ctx context.Context) ([]string, error) {
	var out []string
	for i, name := range movedKinds {
		crd := watch.CRD()
		if err := k.caches[i].Get(ctx, client.ObjectKey{Name: name}, crd); client.IgnoreNotFound(err) != nil {
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
	out := make([]source.Source, len(k.caches))
	for i, c := range k.caches {
		out[i] = source.Kind[client.Object](c, watch.CRD(), handler.EnqueueRequestsFromMapFunc(claims))
	}
	return out
}
