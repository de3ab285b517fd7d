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

package fairqueue

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// object is one of a namespace. Its name begins with its connection, if it has one.
func object(namespace, connection string, n int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("%s/%d", connection, n)}}
}

func connectionOf(r reconcile.Request) string {
	connection, _, _ := strings.Cut(r.Name, "/")
	return connection
}

// world is a queue whose workers are played by the test: a worker begins a pass when it
// asks for an object and there is one.
type world struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	clock   *clocktesting.FakePassiveClock
	workers int
	running []reconcile.Request
}

func newWorld(t *testing.T, workers int) *world {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	queue := New(Options{Workers: workers, ConnectionOf: connectionOf, Clock: clock})
	w := &world{queue("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()), clock, workers, nil}
	t.Cleanup(w.ShutDown)
	return w
}

// add adds objects of a namespace that use a connection.
func (w *world) add(namespace, connection string, n int) {
	for i := range n {
		w.Add(object(namespace, connection, i))
	}
}

// begin has all idle workers begin what there is, and counts the passes under way by
// namespace.
func (w *world) begin() map[string]int {
	for len(w.running) < w.workers && w.Len() > 0 {
		r, _ := w.Get()
		w.running = append(w.running, r)
	}
	out := map[string]int{}
	for _, r := range w.running {
		out[r.Namespace]++
	}
	return out
}

// end ends all passes of which the name of the namespace begins so.
func (w *world) end(prefix string) {
	var left []reconcile.Request
	for _, r := range w.running {
		if strings.HasPrefix(r.Namespace, prefix) {
			w.Done(r)
		} else {
			left = append(left, r)
		}
	}
	w.running = left
}

func (w *world) expect(t *testing.T, what string, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, w.begin()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Sixty machines of twelve contexts of one tenant wait for servers that do not answer:
// they hold three of ten workers, and an honest machine begins at once.
func TestManySlowConnectionsOfOneTenant(t *testing.T) {
	w := newWorld(t, 10)
	for i := range 12 {
		w.add("hostile", fmt.Sprint("c", i), 5)
	}
	w.expect(t, "alone", map[string]int{"hostile": 3})
	w.add("honest", "", 1)
	w.expect(t, "an honest machine", map[string]int{"hostile": 3, "honest": 1})
	w.add("remote", "mine", 5)
	w.expect(t, "one with a connection", map[string]int{"hostile": 3, "honest": 1, "remote": 2})
}

// What a worker spends on an object counts for the namespace of the object, however it ends.
func TestTimeOfWorkersIsCounted(t *testing.T) {
	clock, spent := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), map[string]time.Duration{}
	queue := New(Options{Workers: 2, Clock: clock, Spent: func(namespace string, took time.Duration) { spent[namespace] += took }})
	w := &world{queue("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()), clock, 2, nil}
	t.Cleanup(w.ShutDown)
	w.add("a", "", 3)
	w.add("b", "", 1)
	for range 2 {
		w.begin()
		clock.SetTime(clock.Now().Add(200 * time.Millisecond))
		w.end("")
	}
	if diff := cmp.Diff(map[string]time.Duration{"a": 600 * time.Millisecond, "b": 200 * time.Millisecond}, spent); diff != "" {
		t.Errorf("time (-want +got):\n%s", diff)
	}
}

// A hundred and fifty machines of one identity, whose server refuses everything at once,
// would wait for the rate limit of the connection.
func TestManyMachinesOfOneConnection(t *testing.T) {
	w := newWorld(t, 10)
	w.add("hostile", "c", 150)
	w.add("honest", "", 20)
	w.expect(t, "at first", map[string]int{"hostile": 2, "honest": 8})
	w.end("")
	w.expect(t, "afterwards", map[string]int{"hostile": 2, "honest": 8})
}

// Many tenants whose servers are slow never hold the workers for objects without a
// connection. Once they were seen to be slow, they hold more than half of them only while
// nothing else waits, and never the last fifth.
func TestManySlowTenants(t *testing.T) {
	w := newWorld(t, 10)
	for i := range 20 {
		w.add(fmt.Sprint("hostile-", i), fmt.Sprint("c", i), 50)
	}
	count := func() (n int) {
		for namespace, passes := range w.begin() {
			if strings.HasPrefix(namespace, "hostile") {
				n += passes
			}
		}
		return n
	}
	if n := count(); n != 8 {
		t.Errorf("%d passes at first", n)
	}
	for range 5 {
		w.clock.SetTime(w.clock.Now().Add(4900 * time.Millisecond))
		w.end("hostile")
		count()
	}
	if n := count(); n != 8 {
		t.Errorf("%d passes once they were seen to be slow", n)
	}
	w.add("honest", "", 50)
	if got := w.begin(); got["honest"] != 2 {
		t.Errorf("the honest have %v at once", got)
	}
	w.add("remote", "mine", 50)
	w.end("hostile")
	if got := w.begin(); got["honest"]+got["remote"] != 5 || got["remote"] == 0 || count() != 5 {
		t.Errorf("the honest have %v", got)
	}
	// A tenant whose server is quick again is forgiven.
	w.end("")
	w.clock.SetTime(w.clock.Now().Add(slowLongest))
	if n := count() + w.begin()["honest"] + w.begin()["remote"]; n != 10 {
		t.Errorf("%d passes in the end", n)
	}
}

func TestTenantsTakeTurns(t *testing.T) {
	w := newWorld(t, 1)
	w.add("a", "", 100)
	w.add("b", "", 2)
	w.add("c", "", 1)
	var got []string
	for range 6 {
		w.begin()
		got = append(got, w.running[0].String())
		w.end("")
	}
	want := []string{"a//0", "b//0", "c//0", "a//1", "b//1", "a//2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What has begun goes first, of its own namespace only, and never for long.
func TestWhatHasBegunGoesFirst(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Time{})
	queue := New(Options{Workers: 1, Clock: clock, Begun: func(r reconcile.Request) bool { return strings.HasSuffix(r.Name, "!") }})
	w := &world{queue("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()), clock, 1, nil}
	t.Cleanup(w.ShutDown)
	add := func(namespace string, names ...string) {
		for _, name := range names {
			w.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}})
		}
	}
	add("a", "1", "2")
	if w.Len() != 1 { // the queue has found what is next, and then something goes before it
		t.Error("nothing is next")
	}
	add("a", "3!", "4!")
	add("b", "1", "2")
	var got []string
	for i := range 9 {
		w.begin()
		got = append(got, w.running[0].String())
		w.end("")
		if i == 2 {
			add("a", "5!", "6!", "7!")
		}
	}
	want := []string{"a/3!", "b/1", "a/4!", "b/2", "a/5!", "a/1", "a/6!", "a/7!", "a/2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A burst of one tenant has four of ten workers. The others wait for other tenants.
func TestBurstOfOneTenant(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Time{})
	queue := New(Options{Workers: 10, PerNamespace: 4, Clock: clock})
	w := &world{queue("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()), clock, 10, nil}
	t.Cleanup(w.ShutDown)
	w.add("a", "", 50)
	w.expect(t, "a burst", map[string]int{"a": 4})
	w.add("b", "", 2)
	w.expect(t, "another tenant", map[string]int{"a": 4, "b": 2})
	w.end("a")
	w.expect(t, "the next of the burst", map[string]int{"a": 4, "b": 2})
	w.add("c", "", 50)
	w.expect(t, "a second burst", map[string]int{"a": 4, "b": 2, "c": 4})
}

// An object that begins while it waits goes before those that came earlier.
func TestAnObjectThatBeginsWhileItWaits(t *testing.T) {
	begun := map[string]bool{}
	clock := clocktesting.NewFakePassiveClock(time.Time{})
	queue := New(Options{Workers: 1, Clock: clock, Begun: func(r reconcile.Request) bool { return begun[r.Name] }})
	w := &world{queue("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()), clock, 1, nil}
	t.Cleanup(w.ShutDown)
	w.add("a", "", 4)
	if w.Len() != 1 {
		t.Error("nothing is next")
	}
	begun["/2"] = true
	w.Add(object("a", "", 2))
	var got []string
	for range 4 {
		w.begin()
		got = append(got, w.running[0].Name)
		w.end("")
	}
	w.expect(t, "nothing is left", map[string]int{})
	if diff := cmp.Diff([]string{"/2", "/0", "/1", "/3"}, got); diff != "" {
		t.Error(diff)
	}
}

// With one worker, everything has its turn still.
func TestOneWorker(t *testing.T) {
	w := newWorld(t, 1)
	w.add("a", "c", 3)
	for range 3 {
		w.expect(t, "a slow one", map[string]int{"a": 1})
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.end("")
	}
	w.expect(t, "nothing is left", map[string]int{})
}

// An object that changes during its pass is worked on again, and not twice at a time.
func TestAnObjectThatChangesDuringItsPass(t *testing.T) {
	w := newWorld(t, 5)
	w.add("a", "c", 1)
	w.begin()
	w.add("a", "c", 1)
	w.add("a", "c", 1)
	w.expect(t, "during its pass", map[string]int{"a": 1})
	w.end("")
	w.expect(t, "after it", map[string]int{"a": 1})
	w.end("")
	w.expect(t, "in the end", map[string]int{})
}

// Objects wait for the connection that they have when it is their turn.
func TestConnectionsThatChange(t *testing.T) {
	now := map[string]string{}
	clock := clocktesting.NewFakePassiveClock(time.Time{})
	queue := New(Options{Workers: 10, Clock: clock, ConnectionOf: func(r reconcile.Request) string { return now[r.Namespace] }})
	w := &world{queue("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()), clock, 10, nil}
	t.Cleanup(w.ShutDown)
	w.add("a", "", 20)
	now["a"] = "c"
	w.expect(t, "it is connected", map[string]int{"a": 2})
	w.end("")
	now["a"] = ""
	w.expect(t, "it is not any more", map[string]int{"a": 10})
}

// Workers that wait are woken when objects may begin that could not: the worker whose pass
// ended gets one of three, and each of the others has to get one, too.
func TestIdleWorkersAreWoken(t *testing.T) {
	var mu sync.Mutex
	connection, asked := "c", make(chan struct{}, 100)
	clock := clocktesting.NewFakePassiveClock(time.Time{})
	queue := New(Options{Workers: 6, Clock: clock, ConnectionOf: func(reconcile.Request) string {
		mu.Lock()
		defer mu.Unlock()
		asked <- struct{}{}
		return connection
	}})("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	for i := range 5 {
		queue.Add(object("a", "", i))
	}
	first, _ := queue.Get()
	if _, shutdown := queue.Get(); shutdown {
		t.Fatal("the queue is shut down")
	}
	got := make(chan struct{})
	for len(asked) > 0 {
		<-asked
	}
	for range 2 {
		go func() {
			if _, shutdown := queue.Get(); !shutdown {
				got <- struct{}{}
			}
		}()
		<-asked // under the lock of the queue, which the worker leaves to wait
		for range len(asked) {
			<-asked
		}
	}
	mu.Lock()
	connection = ""
	mu.Unlock()
	queue.Done(first)
	if _, shutdown := queue.Get(); shutdown {
		t.Fatal("the queue is shut down")
	}
	for range 2 {
		select {
		case <-got:
		case <-time.After(time.Minute):
			t.Fatal("a worker sleeps while objects wait")
		}
	}
}

// The workers of a controller wait, begin and end at the same time.
func TestWorkersAtTheSameTime(t *testing.T) {
	for _, perNamespace := range []int{0, 1, 4} {
		t.Run(fmt.Sprint(perNamespace, " per namespace"), func(t *testing.T) { workAtTheSameTime(t, perNamespace) })
	}
}

func workAtTheSameTime(t *testing.T, perNamespace int) {
	t.Helper()
	const workers, tenants, objects = 10, 20, 50
	clock := clocktesting.NewFakePassiveClock(time.Time{})
	some := func(r reconcile.Request) bool {
		return strings.HasSuffix(r.Name, "0") || strings.HasSuffix(r.Name, "5")
	}
	queue := New(Options{Workers: workers, PerNamespace: perNamespace, ConnectionOf: connectionOf, Begun: some, Clock: clock})(
		"test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	done := make(chan reconcile.Request, tenants*objects)
	ended := make(chan struct{}, workers)
	for range workers {
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				r, shutdown := queue.Get()
				if shutdown {
					return
				}
				queue.Done(r)
				done <- r
			}
		}()
	}
	for i := range objects {
		for j := range tenants {
			queue.Add(object(fmt.Sprint("t", j), []string{"", fmt.Sprint("c", j)}[i%2], i))
		}
	}
	seen := map[reconcile.Request]bool{}
	for range tenants * objects {
		select {
		case r := <-done:
			if seen[r] {
				t.Errorf("%s had two passes", r)
			}
			seen[r] = true
		case <-time.After(time.Minute):
			t.Fatal("objects were left in the queue")
		}
	}
	queue.ShutDown()
	for range workers {
		<-ended
	}
}
