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
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// watchAgain is how long after its end the watch on a Node is opened anew. API servers end
// each watch after minutes; the delay keeps one that ends it at once from driving passes.
const watchAgain = 10 * time.Second

// maxDeparture is how long a watch lasts at most: the API server of a tenant need not end it.
const maxDeparture = 10 * time.Minute

// maxDepartures is for how many remediations of a namespace there is a watch at once. The
// others take turns: each watch is a stream from a cluster that is its tenant's.
const maxDepartures = 10

// departures are the watches on what leaves the Nodes of servers that are off, one for each
// remediation that waits for it.
type departures struct {
	mu sync.Mutex
	// start runs a watch beside the controller until the returned function is called; nil
	// before the controller starts.
	start func(run func(context.Context)) context.CancelFunc
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
	ends  map[ctrl.Request]context.CancelFunc
	// waiting are those without a watch since too many have one, in their order.
	waiting []ctrl.Request
}

// source ties the watches to a controller.
func (d *departures) source() source.Source {
	return watch.Named("what leaves Nodes", source.Func(
		func(base context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.queue, d.ends = queue, map[ctrl.Request]context.CancelFunc{}
			d.start = func(run func(context.Context)) context.CancelFunc {
				ctx, end := context.WithCancel(base)
				go run(ctx)
				return end
			}
			return nil
		}))
}

// begin watches for a remediation, unless that is done already, or wakes it when it is its turn.
// Watch calls its argument for each change until its context ends.
func (d *departures) begin(request ctrl.Request, watch func(ctx context.Context, left func()) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.start == nil || d.ends[request] != nil {
		return
	}
	if d.crowded(request) {
		if !slices.Contains(d.waiting, request) {
			d.waiting = append(d.waiting, request)
		}
		return
	}
	queue := d.queue
	d.ends[request] = d.start(func(ctx context.Context) {
		bounded, free := context.WithTimeout(ctx, maxDeparture)
		defer free()
		if err := watch(bounded, func() { queue.Add(request) }); err != nil {
			ctrl.LoggerFrom(ctx).V(4).Info("What leaves a Node cannot be watched, trying again",
				"Metal3Remediation", request.String(), "after", watchAgain.String(), "reason", err.Error())
		}
		if ctx.Err() == nil {
			d.end(request)
			queue.AddAfter(request, watchAgain)
		}
	})
}

// crowded reports whether the namespace of a remediation has as many watches as it may.
func (d *departures) crowded(request ctrl.Request) bool {
	watches := 0
	for other := range d.ends {
		if other.Namespace == request.Namespace {
			watches++
		}
	}
	return watches >= maxDepartures
}

// end ends the watch for a remediation, if there is one, and has the next one have its turn.
func (d *departures) end(request ctrl.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = slices.DeleteFunc(d.waiting, func(other ctrl.Request) bool { return other == request })
	if end := d.ends[request]; end != nil {
		end()
		delete(d.ends, request)
	}
	if d.crowded(request) {
		return
	}
	next := slices.IndexFunc(d.waiting, func(other ctrl.Request) bool { return other.Namespace == request.Namespace })
	if next >= 0 {
		d.queue.Add(d.waiting[next])
		d.waiting = slices.Delete(d.waiting, next, next+1)
	}
}
