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
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestCollisionsOfOnePassAreBounded lets a claim ask for an index of a template of
// which far more indexes are in use than the cache shows: a pass tries one of them, and leaves the
// rest to the next, as after a conflict.
func TestCollisionsOfOnePassAreBounded(t *testing.T) {
	const inUse = 15
	other := infrav1.Metal3ObjectRef{Name: "other"}
	tests := map[string]struct {
		// show changes what the cache shows of the Metal3Datas.
		show func(list *infrav1.Metal3DataList)
		// served reports whether the first pass is enough.
		served bool
	}{
		"a cache that is up to date": {func(*infrav1.Metal3DataList) {}, true},
		"a cache that is behind":     {func(list *infrav1.Metal3DataList) { list.Items = nil }, false},
		"names that other templates took before the API forbade it": {func(list *infrav1.Metal3DataList) {
			for i := range list.Items {
				list.Items[i].Spec.Template = &other
			}
		}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			template := types.NamespacedName{Namespace: server.Namespace(t), Name: "nodes"}
			server.Create(t, &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: template.Name}})
			for index := range int32(inUse) {
				earlier := newClaim(func(c *infrav1.Metal3DataClaim) {
					c.Namespace, c.Name, c.UID = template.Namespace, "earlier", "earlier"
				})
				server.Create(t, desiredData(template, infrav1.Metal3DataTemplateSpec{}, earlier, index))
			}
			claim := newClaim(func(c *infrav1.Metal3DataClaim) { c.Namespace, c.UID = template.Namespace, "" })
			server.Create(t, claim)
			creations, show := 0, tc.show
			cached, err := server.NewClient(t.Context(), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					err := c.List(ctx, list, options...)
					if data, ok := list.(*infrav1.Metal3DataList); ok {
						show(data)
					}
					return err
				},
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
					creations++
					return c.Create(ctx, o, options...)
				},
			}, SetupIndexes)
			expect.NoError(t, err)
			r := &Reconciler{Client: cached, Live: server.Client, Clock: clock.RealClock{}}
			pass := func() error {
				_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: template})
				return err
			}
			if err := pass(); creations != 1 || (err == nil) != tc.served || err != nil && !apierrors.IsConflict(err) {
				t.Errorf("%d creations in one pass, which ends with %v", creations, err)
			}
			show = func(*infrav1.Metal3DataList) {}
			if err := pass(); err != nil {
				t.Error(err)
			}
			expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
			if ref := claim.Status.RenderedData; ref == nil || ref.Name != "nodes-15" {
				t.Errorf("the claim has %v, want the lowest free index", ref)
			}
		})
	}
}
