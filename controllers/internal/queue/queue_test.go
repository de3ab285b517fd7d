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

package queue

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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

	workers int
	running []reconcile.Request
}

func newQueue(t *testing.T, workers int) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t.Helper()
	q := New(workers, connectionOf)("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	return q
}

func newWorld(t *testing.T, workers int) *world {
	t.Helper()
	return &world{newQueue(t, workers), workers, nil}
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
	t.Run(what, func(t *testing.T) { expect.Equal(t, want, w.begin()) })
}

// Sixty machines of twelve contexts of one tenant wait for servers that do not answer:
// they hold four of ten workers, and an honest machine begins at once.
func TestManySlowConnectionsOfOneTenant(t *testing.T) {
	w := newWorld(t, 10)
	for i := range 12 {
		w.add("hostile", fmt.Sprint("c", i), 5)
	}
	w.expect(t, "alone", map[string]int{"hostile": 4})
	w.add("honest", "", 1)
	w.expect(t, "an honest machine", map[string]int{"hostile": 4, "honest": 1})
	w.add("remote", "mine", 5)
	w.expect(t, "one with a connection", map[string]int{"hostile": 4, "honest": 1, "remote": 2})
}

// A hundred and fifty machines of one identity, whose server refuses everything at once,
// would wait for the rate limit of the connection. Another tenant may call its connection the same.
func TestManyMachinesOfOneConnection(t *testing.T) {
	w := newWorld(t, 10)
	w.add("hostile", "c", 150)
	w.add("honest", "", 20)
	w.add("other", "c", 20)
	w.expect(t, "at first", map[string]int{"hostile": 2, "honest": 4, "other": 2})
	w.end("")
	w.expect(t, "afterwards", map[string]int{"hostile": 2, "honest": 4, "other": 2})
	w.add("hostile", "", 5)
	w.expect(t, "without the connection", map[string]int{"hostile": 4, "honest": 4, "other": 2})
}

// A burst of one tenant has four of ten workers. The others wait for other tenants.
func TestBurstOfOneTenant(t *testing.T) {
	w := newWorld(t, 10)
	w.add("a", "", 50)
	w.expect(t, "a burst", map[string]int{"a": 4})
	w.add("b", "", 2)
	w.expect(t, "another tenant", map[string]int{"a": 4, "b": 2})
	w.end("a")
	w.expect(t, "the next of the burst", map[string]int{"a": 4, "b": 2})
	w.add("c", "", 50)
	w.expect(t, "a second burst", map[string]int{"a": 4, "b": 2, "c": 4})
}

// One namespace has two fifths of the workers, and one at least.
func TestWorkersOfANamespace(t *testing.T) {
	got := map[int]int{}
	for _, workers := range []int{1, 2, 3, 4, 5, 10, 20} {
		got[workers] = newOrder(workers, nil).share
	}
	expect.Equal(t, map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 10: 4, 20: 8}, got)
}

func TestTenantsTakeTurnsAndTheirConnectionsToo(t *testing.T) {
	w := newWorld(t, 1)
	w.add("a", "", 100)
	w.add("a", "x", 2)
	w.add("b", "", 2)
	w.add("c", "", 1)
	var got []string
	for range 8 {
		w.begin()
		got = append(got, w.running[0].String())
		w.end("")
	}
	want := []string{"a//0", "b//0", "c//0", "a/x/0", "b//1", "a//1", "a/x/1", "a//2"}
	expect.Equal(t, want, got)
}

// With one worker, everything has its turn still.
func TestOneWorker(t *testing.T) {
	w := newWorld(t, 1)
	w.add("a", "c", 3)
	for range 3 {
		w.expect(t, "one of them", map[string]int{"a": 1})
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

// The workers of a controller wait, begin and end at the same time, until it is shut down.
func TestWorkersAtTheSameTime(t *testing.T) {
	const workers, tenants, objects = 10, 20, 50
	queue := newQueue(t, workers)
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
			expect.That(t, !seen[r], "%s had two passes", r)
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

// Whatever is added and ends in whatever order: once all workers are at work or asleep, none
// sleeps while an object waits that may begin, and in the end nothing is kept.
func TestNoWorkerSleepsWhileAnObjectMayBegin(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { addAndEndAtRandom(t, rand.New(rand.NewPCG(1, seed))) })
		})
	}
}

func addAndEndAtRandom(t *testing.T, random *rand.Rand) {
	t.Helper()
	const workers, steps = 7, 300
	order := newOrder(workers, connectionOf)
	q := queue{workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Queue: order}), order}
	end := make(chan struct{})
	for range workers {
		go func() {
			for {
				object, shutdown := q.Get()
				if shutdown {
					return
				}
				<-end
				q.Done(object)
			}
		}()
	}
	add := func() {
		q.Add(object(fmt.Sprint("t", random.IntN(4)), []string{"", "x", "y"}[random.IntN(3)], random.IntN(10)))
	}
	for range steps {
		ending := min(random.IntN(4), len(order.running)) // before workers are woken
		for range random.IntN(6) {
			add()
		}
		for range ending {
			end <- struct{}{}
		}
		synctest.Wait()
		n := len(order.running)
		expect.Must(t, n >= workers || order.Len() == 0, "%d of %d workers are at work, and %d may begin", n, workers, order.Len())
	}
	q.ShutDown()
	close(end)
	synctest.Wait()
	expect.That(t, len(order.turns)+len(order.running) == 0, "%d namespaces and %d passes are kept", len(order.turns), len(order.running))
}
