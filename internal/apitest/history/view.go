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

package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
)

// View is what the cache of one controller shows.
type View struct {
	history *History
	// seen is the moment of each kind.
	seen map[schema.GroupKind]int
	// stalled are the kinds of which nothing is heard.
	stalled map[schema.GroupKind]bool
}

// One time out of these a watch stalls, and one that stalls goes on.
const stallIn, resumeIn = 30, 10

// View returns a view that shows the oldest moment of all kinds.
func (h *History) View() *View {
	return &View{history: h, seen: map[schema.GroupKind]int{}, stalled: map[schema.GroupKind]bool{}}
}

// Client reads from the view, lists by an index only, and writes to the API server
// unless faults prevent that.
func (v *View) Client(
	ctx context.Context, faults *Faults, indexes ...func(context.Context, client.FieldIndexer) error,
) (*apitest.Client, error) {
	calls := v.history.writes(faults)
	calls.Get, calls.List = v.get, v.list
	c, err := v.history.server.NewClient(ctx, calls, indexes...)
	if err != nil {
		return nil, err
	}
	c.IndexedOnly = true
	return c, nil
}

// Advance lets the view see more of each kind than before, or not: each kind has
// a watch of its own, which stalls at times.
func (v *View) Advance(random *rand.Rand) {
	for _, k := range v.history.kinds {
		turn := stallIn
		if v.stalled[k.GroupKind] {
			turn = resumeIn
		}
		if random.IntN(turn) == 0 {
			v.stalled[k.GroupKind] = !v.stalled[k.GroupKind]
		}
		if v.stalled[k.GroupKind] {
			continue
		}
		ahead := len(k.moments) - v.seen[k.GroupKind]
		if random.IntN(2) == 0 {
			ahead = min(ahead, 4)
		}
		v.seen[k.GroupKind] += random.IntN(ahead)
	}
}

// CatchUp lets the view show what there is.
func (v *View) CatchUp() {
	for _, k := range v.history.kinds {
		v.seen[k.GroupKind] = len(k.moments) - 1
	}
}

// moment is what the view shows of a kind. Reading any other kind is an error of
// the test, not of the controller.
func (v *View) moment(of runtime.Object) ([]client.Object, error) {
	gk, err := v.history.groupKind(of)
	if err != nil {
		return nil, err
	}
	k, found := v.history.kind(gk)
	if !found {
		return nil, fmt.Errorf("%s is read from the cache, but not noted", gk)
	}
	return k.moments[v.seen[gk]], nil
}

func (v *View) get(_ context.Context, _ client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	shown, err := v.moment(into)
	if err != nil {
		return err
	}
	for _, o := range shown {
		if client.ObjectKeyFromObject(o) == key {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
}

func (v *View) list(_ context.Context, _ client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
	shown, err := v.moment(into)
	if err != nil {
		return err
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	var items []runtime.Object
	for _, item := range shown {
		if (o.Namespace == "" || o.Namespace == item.GetNamespace()) &&
			(o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(item.GetLabels()))) {
			items = append(items, item.DeepCopyObject())
		}
	}
	return meta.SetList(into, items)
}
