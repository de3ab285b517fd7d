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
	"math/rand/v2"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestIndexesWhateverTheCachesShow lets two controllers, as at a change of
// leaders, work on one template of two clusters while claims come and go. Each
// sees the claims and the data as they were at some earlier time. At no time do
// two claims have one index, nor does a claim change its index; and once the
// caches have caught up, every claim has its data and no data is left over.
func TestIndexesWhateverTheCachesShow(t *testing.T) {
	for seed := range uint64(30) {
		w := newWorld(t, rand.New(rand.NewPCG(seed, 11)))
		w.name = fmt.Sprintf("seed %d", seed)
		w.play(50)
	}
}

// world is a template, with all that was ever listed of it. Its API server is a
// store in memory, since thousands of passes are needed to meet the rare ones.
type world struct {
	t      *testing.T
	name   string
	random *rand.Rand
	store  client.Client
	// past holds what there was, oldest first.
	past []moment
	// controllers are the two, and seen is which moment each of them sees.
	controllers []*Reconciler
	seen        []int
	// given is the index of each claim that ever had one, by UID.
	given map[types.UID]string
	made  int
	// calm says that no write fails any more.
	calm bool
}

// errLost is the error of a write that was lost, with the rest of its pass.
var errLost = errors.New("lost")

type moment struct {
	claims []infrav1.Metal3DataClaim
	data   []infrav1.Metal3Data
}

func newWorld(t *testing.T, random *rand.Rand) *world {
	t.Helper()
	w := &world{t: t, random: random, seen: []int{0, 0}, given: map[types.UID]string{}}
	template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "nodes"}}
	store := fake.NewClientBuilder().WithScheme(server.Client.Scheme()).WithObjects(template).
		WithStatusSubresource(template, &infrav1.Metal3DataClaim{}, &infrav1.Metal3Data{}).Build()
	w.store = store
	for i := range w.seen {
		w.controllers = append(w.controllers, &Reconciler{
			Client: interceptor.NewClient(store, w.calls(i)), Live: store,
			Recorder: events.NewFakeRecorder(1000), Clock: clock.RealClock{},
		})
	}
	w.look()
	return w
}

// calls lets a controller list what it sees, and write what there is.
func (w *world) calls(i int) interceptor.Funcs {
	return interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			now := w.past[w.seen[i]]
			switch list := list.(type) {
			case *infrav1.Metal3DataClaimList:
				list.Items = (&infrav1.Metal3DataClaimList{Items: now.claims}).DeepCopy().Items
			case *infrav1.Metal3DataList:
				list.Items = (&infrav1.Metal3DataList{Items: now.data}).DeepCopy().Items
			}
			return nil
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			w.made++
			o.SetUID(types.UID(fmt.Sprintf("uid-%d", w.made)))
			return w.write(func() error { return c.Create(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return w.write(func() error { return c.Patch(ctx, o, patch, options...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
		) error {
			return w.write(func() error { return c.SubResource(name).Patch(ctx, o, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			found, _ := o.DeepCopyObject().(client.Object)
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), found); err != nil || found.GetUID() != o.GetUID() {
				return err // the store knows no precondition on UIDs
			}
			return w.write(func() error { return c.Delete(ctx, o, options...) })
		},
	}
}

// write lets a write through, after which the caches may show what there is, or
// loses it.
func (w *world) write(call func() error) error {
	if !w.calm && w.random.IntN(12) == 0 {
		return errLost
	}
	err := call()
	if !w.calm {
		w.look()
	}
	return err
}

// play goes some steps, and then lets the controllers come to rest.
func (w *world) play(steps int) {
	for range steps {
		switch w.random.IntN(6) {
		case 0, 1:
			w.claim()
		case 2:
			w.release()
		default:
			w.pass(w.random.IntN(2), w.random.IntN(3) == 0)
		}
		w.look()
	}
	w.calm = true
	for range 8 { // a claim that goes takes four passes
		w.pass(0, true)
		w.pass(1, true)
	}
	end := w.look()
	if len(end.data) != len(end.claims) {
		w.t.Errorf(w.name+": %d claims have %d Metal3Data", len(end.claims), len(end.data))
	}
	for _, claim := range end.claims {
		ref := claim.Status.RenderedData
		if ref == nil || w.given[claim.UID] != ref.Name {
			w.t.Errorf(w.name+": claim %s has data %q, its status says %v", claim.Name, w.given[claim.UID], ref)
		}
	}
}

// claim makes a claim of one of the clusters.
func (w *world) claim() {
	w.made++
	claim := newClaim(func(c *infrav1.Metal3DataClaim) {
		c.Name, c.UID = fmt.Sprintf("m-%d", w.made), types.UID(fmt.Sprintf("uid-%d", w.made))
		c.Labels = map[string]string{clusterv1.ClusterNameLabel: fmt.Sprintf("cluster-%d", w.random.IntN(2))}
	})
	if err := w.store.Create(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
}

// release deletes a claim.
func (w *world) release() {
	now := w.past[len(w.past)-1]
	if len(now.claims) == 0 {
		return
	}
	err := w.store.Delete(w.t.Context(), &now.claims[w.random.IntN(len(now.claims))])
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
}

// pass is one pass of a controller, which sees what was, or the present.
func (w *world) pass(i int, present bool) {
	ahead := len(w.past) - w.seen[i] // a cache does not go back
	if w.random.IntN(2) == 0 {
		ahead = min(ahead, 4)
	}
	w.seen[i] += w.random.IntN(ahead)
	if present {
		w.look()
		w.seen[i] = len(w.past) - 1
	}
	key := types.NamespacedName{Namespace: "tenant", Name: "nodes"}
	_, err := w.controllers[i].Reconcile(w.t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil && !errors.Is(err, errLost) && !apierrors.IsConflict(err) {
		w.t.Fatalf(w.name+": controller %d: %v", i, err)
	}
}

// look lists everything and checks what must hold at all times.
func (w *world) look() moment {
	var claims infrav1.Metal3DataClaimList
	var data infrav1.Metal3DataList
	err := errors.Join(
		w.store.List(w.t.Context(), &claims),
		w.store.List(w.t.Context(), &data))
	if err != nil {
		w.t.Fatal(err)
	}
	now := moment{claims: claims.Items, data: data.Items}
	w.past = append(w.past, now)
	for _, one := range now.data {
		owner := metav1.GetControllerOf(&one)
		if before, found := w.given[owner.UID]; found && before != one.Name {
			w.t.Fatalf(w.name+": claim %s had %s and has %s", owner.Name, before, one.Name)
		}
		w.given[owner.UID] = one.Name
	}
	for _, claim := range now.claims {
		if had := w.given[claim.UID]; had != "" && claim.DeletionTimestamp.IsZero() && !now.has(had) {
			w.t.Fatalf(w.name+": claim %s lost %s while it lives", claim.Name, had)
		}
	}
	return now
}

func (m moment) has(data string) bool {
	for _, one := range m.data {
		if one.Name == data && one.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(&one, infrav1.DataClaimFinalizer) {
			return true
		}
	}
	return false
}
