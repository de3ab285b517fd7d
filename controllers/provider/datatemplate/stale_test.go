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
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest/history"
)

// TestIndexesWhateverTheCachesShow lets two controllers, as at a change of
// leaders, work on one template of two clusters while claims come and go. Each
// sees template, claims and data as they were at some earlier time, and may sleep
// before a write while the world goes on. At no time do two claims have one index,
// nor does a claim change its index; and once the caches have caught up, every
// claim has its data and no data is left over.
func TestIndexesWhateverTheCachesShow(t *testing.T) {
	history.Play(t, 30, func(t *testing.T, random *rand.Rand) {
		t.Helper()
		newWorld(t, random).play(50)
	})
}

// world is a template, with all that was ever listed of it.
type world struct {
	*history.History

	t        *testing.T
	random   *rand.Rand
	troubles *history.Faults
	// controllers are the two, and views is what each of them sees.
	controllers []*Reconciler
	views       []*history.View
	// busy is the controller that is amid a pass, or -1.
	busy int
	// given is the index of each claim that ever had one, by its name, which no other one gets.
	given map[string]string
	made  int
}

func newWorld(t *testing.T, random *rand.Rand) *world {
	t.Helper()
	w := &world{
		t: t, random: random, busy: -1, given: map[string]string{},
		History: history.New(t, &server, &infrav1.Metal3DataTemplateList{}, &infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataList{}, &clusterv1.ClusterList{}),
	}
	w.troubles = &history.Faults{Random: random, Meanwhile: w.step}
	w.must(w.Client.Create(t.Context(), &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "nodes"}}))
	for range 2 {
		view := w.View()
		cache, err := view.Client(t.Context(), w.troubles, SetupIndexes)
		w.must(err)
		w.views = append(w.views, view)
		w.controllers = append(w.controllers, &Reconciler{
			Client: cache, Live: w.Live(w.troubles), Clock: clock.RealClock{},
		})
	}
	w.Noted = w.check
	return w
}

// play goes some steps, and then lets the controllers come to rest.
func (w *world) play(steps int) {
	for range steps {
		w.step()
	}
	*w.troubles = history.Faults{}
	for range 8 { // a claim that goes takes four passes
		for i, view := range w.views {
			view.CatchUp()
			w.must(w.pass(i))
		}
		w.end()
	}
	w.Verify(w.t)
	claims, data := history.Now[infrav1.Metal3DataClaim](w.History), history.Now[infrav1.Metal3Data](w.History)
	if len(data) != len(claims) {
		w.t.Errorf("%d claims have %d Metal3Data", len(claims), len(data))
	}
	for _, claim := range claims {
		ref := claim.Status.RenderedData
		if ref == nil || w.given[claim.Name] != ref.Name {
			w.t.Errorf("claim %s has data %q, its status says %v", claim.Name, w.given[claim.Name], ref)
		}
	}
	for _, one := range data {
		if owner := metav1.GetControllerOf(one); owner == nil || owner.Name != one.Spec.Claim.Name {
			w.t.Errorf("Metal3Data %s has owner %v", one.Name, owner)
		}
	}
}

// step is one thing that happens.
func (w *world) step() {
	w.end()
	switch w.random.IntN(7) {
	case 0, 1:
		w.claim()
	case 2:
		w.release()
	case 3:
		w.lose()
	default:
		i := w.random.IntN(2)
		w.views[i].Advance(w.random)
		if w.random.IntN(3) == 0 {
			w.views[i].CatchUp()
		}
		err := w.pass(i)
		if !errors.Is(err, history.ErrLost) && !apierrors.IsConflict(err) {
			w.must(err)
		}
	}
}

// claim makes a claim of one of the clusters. Claims of one second are served in
// the order of their names.
func (w *world) claim() {
	if len(history.Now[infrav1.Metal3DataClaim](w.History)) >= 5 {
		return
	}
	w.made++
	w.must(w.Client.Create(w.t.Context(), newClaim(func(c *infrav1.Metal3DataClaim) {
		c.Namespace, c.Name, c.UID = w.Namespace, fmt.Sprintf("m-%03d", w.made), ""
		c.Labels = map[string]string{clusterv1.ClusterNameLabel: fmt.Sprintf("cluster-%d", w.random.IntN(2))}
	})))
}

// release deletes a claim.
func (w *world) release() {
	if claims := history.Now[infrav1.Metal3DataClaim](w.History); len(claims) > 0 {
		w.must(w.Client.Delete(w.t.Context(), claims[w.random.IntN(len(claims))]))
	}
}

// lose takes the owner references off a Metal3Data.
func (w *world) lose() {
	if data := history.Now[infrav1.Metal3Data](w.History); len(data) > 0 {
		one := data[w.random.IntN(len(data))]
		bare := one.DeepCopy()
		bare.OwnerReferences = nil
		w.must(w.Client.Patch(w.t.Context(), bare, client.MergeFrom(one)))
	}
}

// end lets Metal3Data go that only their own controller holds, as that would.
func (w *world) end() {
	for _, one := range history.Now[infrav1.Metal3Data](w.History) {
		if !one.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(one, infrav1.DataClaimFinalizer) {
			free := one.DeepCopy()
			free.Finalizers = nil
			w.must(w.Client.Patch(w.t.Context(), free, client.MergeFrom(one)))
		}
	}
}

// pass is one pass of a controller, unless it is amid one.
func (w *world) pass(i int) error {
	if w.busy == i {
		return nil
	}
	w.t.Logf("controller %d", i)
	before := w.busy
	w.busy = i
	_, err := w.controllers[i].Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.Namespace, Name: "nodes"}})
	w.busy = before
	return err
}

// check checks what must hold at all times.
func (w *world) check() {
	data := history.Now[infrav1.Metal3Data](w.History)
	held := map[string]bool{}
	for _, one := range data {
		claim := one.Spec.Claim.Name
		if before, found := w.given[claim]; found && before != one.Name {
			w.t.Fatalf("claim %s had %s and has %s", claim, before, one.Name)
		}
		w.given[claim] = one.Name
		held[one.Name] = one.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(one, infrav1.DataClaimFinalizer)
	}
	for _, claim := range history.Now[infrav1.Metal3DataClaim](w.History) {
		if had := w.given[claim.Name]; had != "" && claim.DeletionTimestamp.IsZero() && !held[had] {
			w.t.Fatalf("claim %s lost %s while it lives", claim.Name, had)
		}
	}
}

func (w *world) must(err error) {
	if client.IgnoreNotFound(err) != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}
