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

package remediation

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// listener is a queue that passes on what is added to it.
type listener struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]

	added chan time.Duration
}

func (l listener) Add(ctrl.Request) { l.added <- 0 }

func (l listener) AddAfter(_ ctrl.Request, after time.Duration) { l.added <- after }

func TestDepartures(t *testing.T) {
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "m-1"}}
	queue := listener{added: make(chan time.Duration, 10)}
	d := &departures{}
	d.begin(request, func(context.Context, func()) error { panic("the controller has not started") })
	if err := d.source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}

	ended := make(chan struct{})
	d.begin(request, func(ctx context.Context, left func()) error {
		left()
		<-ctx.Done()
		close(ended)
		return nil
	})
	d.begin(request, func(context.Context, func()) error { panic("a remediation is watched for twice") })
	if after := <-queue.added; after != 0 {
		t.Errorf("what leaves wakes after %s", after)
	}
	d.end(request)
	<-ended
	d.end(request)

	// A watch that ends by itself is opened anew only after a while.
	d.begin(request, func(context.Context, func()) error { return errors.New("broken") })
	if after := <-queue.added; after != watchAgain {
		t.Errorf("the end of a watch wakes after %s", after)
	}
	begun := make(chan struct{})
	d.begin(request, func(context.Context, func()) error {
		close(begun)
		return nil
	})
	<-begun
}

// TestManyDepartures shows that a namespace has a few watches, and that all get their turn.
func TestManyDepartures(t *testing.T) {
	queue, d := listener{added: make(chan time.Duration, 10)}, &departures{}
	if err := d.source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	open := func(ctx context.Context, _ func()) error {
		<-ctx.Done()
		return nil
	}
	of := func(namespace string, n int) ctrl.Request {
		return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("m-%d", n)}}
	}
	for n := range 3 * maxDepartures {
		d.begin(of("many", n), open)
		d.begin(of("many", n), open)
	}
	d.begin(of("other", 0), open)
	if len(d.ends) != maxDepartures+1 || d.ends[of("other", 0)] == nil {
		t.Errorf("%d watches, want %d, and that of the other namespace", len(d.ends), maxDepartures+1)
	}

	d.end(of("many", maxDepartures)) // that waits, and is woken no more
	for n := range 3 {
		d.end(of("many", n))
		<-queue.added
		d.begin(of("many", maxDepartures+1+n), open)
		if d.ends[of("many", maxDepartures+1+n)] == nil {
			t.Errorf("the one that was woken has no watch")
		}
	}
	// One that is woken and takes no watch hands its turn on.
	d.end(of("many", 5))
	<-queue.added
	d.end(of("many", maxDepartures+4))
	<-queue.added
	d.begin(of("many", maxDepartures+5), open)
	d.end(of("other", 0))
	if len(d.ends) != maxDepartures || len(queue.added) != 0 {
		t.Errorf("%d watches and %d woken, want %d and none", len(d.ends), len(queue.added), maxDepartures)
	}
}

// TestWatchEndsWithEvacuation shows that only a pass that moves the workload away keeps the watch on it.
func TestWatchEndsWithEvacuation(t *testing.T) {
	for name, tc := range map[string]struct {
		given *objects
		kept  bool
	}{
		"while Pods are to leave":                    {newObjects(in(running, 0, 0), off, outOfServiceNode, pod), true},
		"while the workload cluster does not answer": {newObjects(in(running, 0, 0), off, failing), true},
		"once the server is switched on":             {newObjects(in(waiting, 0, 0), off), false},
		"once the remediation is deleted":            {newObjects(in(running, 0, 0), off, outOfServiceNode, pod, deleted), false},
		"once it is gone":                            {newObjects(func(o *objects) { o.remediation.Name = "another" }), false},
		"once it is out of turn":                     {newObjects(in(running, 0, 0), off, outOfServiceNode, pod, outOfTurn), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.given)
			if err := w.departures.source().Start(t.Context(), listener{added: make(chan time.Duration, 10)}); err != nil {
				t.Fatal(err)
			}
			request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "tenant", Name: "m-1"}}
			w.departures.begin(request, func(ctx context.Context, _ func()) error {
				<-ctx.Done()
				return nil
			})
			if _, err := w.pass(); err != nil && !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			if kept := w.departures.ends[request] != nil; kept != tc.kept {
				t.Errorf("the watch is kept: %t", kept)
			}
		})
	}
}
