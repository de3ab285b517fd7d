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

package site

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// writers is how many requests are under way at a time when much is made at once.
const writers = 16

// Site is one cluster. Its client is the administrator's and is not limited.
type Site struct {
	client.WithWatch
	Server *harness.Server

	counted, ours map[string]bool
}

// Counting selects the requests that count.
type Counting struct {
	// Resources are those whose requests are the business of the benchmark.
	Resources []string
	// Ours are the requests by which the benchmark itself makes objects or plays
	// another client: "POST hostclaims". They show that something happens, and no more.
	Ours []string
}

// Open is the way into the cluster of the server.
func Open(server *harness.Server, counting Counting) (*Site, error) {
	config := rest.CopyConfig(server.Config)
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: server.Scheme})
	if err != nil {
		return nil, err
	}
	return &Site{WithWatch: c, Server: server, counted: set(counting.Resources), ours: set(counting.Ours)}, nil
}

func set(names []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

// InParallel calls a function for each number from the first to before the last,
// for several at a time.
func InParallel(ctx context.Context, first, last int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for n := first; n < last; n++ {
		group.Go(func() error { return do(ctx, n) })
	}
	return group.Wait()
}

// Gone is what Follow shows of an object that was deleted.
type Gone struct{ Object client.Object }

// Follow shows every change of a kind to a function until ctx ends. A benchmark
// makes its objects after that, so nothing is listed.
func (s *Site) Follow(ctx context.Context, list client.ObjectList, see func(object any, now time.Time), options ...client.ListOption) error {
	stream, err := s.Watch(ctx, list, options...)
	if err != nil {
		return fmt.Errorf("watch %T: %w", list, err)
	}
	all := &following{see: see, held: map[types.NamespacedName]client.Object{}}
	go all.read(ctx, stream, func() (watch.Interface, error) { return s.catchUp(ctx, list, all, options) })
	return nil
}

// following shows changes to a function. It holds what exists, since a watch that is opened again does not tell what
// went in between.
type following struct {
	see  func(object any, now time.Time)
	held map[types.NamespacedName]client.Object
}

func (f *following) show(object client.Object) {
	f.held[client.ObjectKeyFromObject(object)] = object
	f.see(object, time.Now())
}

func (f *following) end(object client.Object) {
	delete(f.held, client.ObjectKeyFromObject(object))
	f.see(Gone{Object: object}, time.Now())
}

// list shows all objects there are, and ends the others.
func (f *following) list(list client.ObjectList) error {
	gone := maps.Clone(f.held)
	err := meta.EachListItem(list, func(o runtime.Object) error {
		if object, ok := o.(client.Object); ok {
			delete(gone, client.ObjectKeyFromObject(object))
			f.show(object)
		}
		return nil
	})
	for _, object := range gone {
		f.end(object)
	}
	return err
}

// read reads a stream, and the ones that are opened when it breaks: an API server ends
// a watch whose client does not read fast enough.
func (f *following) read(ctx context.Context, stream watch.Interface, again func() (watch.Interface, error)) {
	for {
		for event := range stream.ResultChan() {
			switch object, ok := event.Object.(client.Object); {
			case ok && event.Type == watch.Deleted:
				f.end(object)
			case ok:
				f.show(object)
			}
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if stream, err = again(); err != nil {
			ctrl.Log.Error(err, "A watch of the benchmark has broken")
			return
		}
	}
}

// catchUp shows all objects, since some may have changed or gone while no watch was open, and
// watches from there.
func (s *Site) catchUp(ctx context.Context, list client.ObjectList, all *following, options []client.ListOption) (watch.Interface, error) {
	if err := s.List(ctx, list, options...); err != nil {
		return nil, err
	}
	if err := all.list(list); err != nil {
		return nil, err
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	return s.Watch(ctx, list, append(slices.Clone(options), from)...)
}
