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
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/indexes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

func TestUnseen(t *testing.T) {
	now, template := time.Unix(0, 0), types.NamespacedName{Name: "nodes"}
	one, two := indexes.Data{Index: 1, Claim: "a"}, indexes.Data{Index: 2, Claim: "b"}
	tests := map[string]struct {
		shown []indexes.Data
		after time.Duration
		want  []indexes.Data
	}{
		"the cache shows none of them":        {want: []indexes.Data{one, two}},
		"it shows one":                        {shown: []indexes.Data{one}, want: []indexes.Data{two}},
		"it shows all":                        {shown: []indexes.Data{two, one}},
		"it shows the index of another claim": {shown: []indexes.Data{{Index: 1, Claim: "c"}, two}, want: []indexes.Data{one}},
		"one was made too long ago":           {after: retry.CatchUp, want: []indexes.Data{two}},
		"all were":                            {after: 2 * retry.CatchUp},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := &made{}
			m.note(template, one, now)
			m.note(template, two, now.Add(retry.CatchUp/2))
			got, until := m.unseen(template, tc.shown, now.Add(tc.after))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if until.IsZero() != (len(tc.want) == 0) {
				t.Errorf("until %s", until)
			}
		})
	}
}

// TestDataIsMadeOnce has the cache show a claim with its index, and its Metal3Data late: the pass in
// between sends no request, and comes back.
func TestDataIsMadeOnce(t *testing.T) {
	template := types.NamespacedName{Namespace: server.Namespace(t), Name: "nodes"}
	server.Create(t, &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: template.Name}})
	server.Create(t, newClaim(func(c *infrav1.Metal3DataClaim) { c.Namespace, c.UID = template.Namespace, "" }))
	late, writes := true, 0
	cached, err := server.NewClient(t.Context(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if data, ok := list.(*infrav1.Metal3DataList); ok && late {
				data.Items = nil
			}
			return err
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			writes++
			return c.Create(ctx, o, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(name).Patch(ctx, o, patch, options...)
		},
	}, SetupIndexes)
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Client: cached, Live: server.Client, Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	pass := func() (sent int, again time.Duration) {
		t.Helper()
		before := writes
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: template})
		if err != nil {
			t.Fatal(err)
		}
		return writes - before, result.RequeueAfter
	}
	pass() // index, Metal3Data, status of the template
	if sent, again := pass(); sent != 0 || again != retry.CatchUp {
		t.Errorf("%d writes, and again after %s", sent, again)
	}
	late = false
	pass() // the indexes of the template
	if sent, again := pass(); sent != 0 || again != 0 {
		t.Errorf("%d writes after the cache has caught up, and again after %s", sent, again)
	}
}
