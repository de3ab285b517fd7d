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

package optionalcrd

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// discoveryLag is how long an API server may take to serve a kind after the
// last event of its CRD. No event tells when it does, so waiting objects are
// reconciled at the event and once more after this time. Nothing polls.
const discoveryLag = 3 * time.Second

// CRD is the object to watch for OnCRD: the metadata of all CRDs.
func CRD() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
	}}
}

// OneOf lets through the events of the named CRDs.
func OneOf(crds ...string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return slices.Contains(crds, o.GetName()) })
}

// OnCRD enqueues the objects that wait for a kind when its CRD comes or changes.
func OnCRD(waiting func(ctx context.Context) []reconcile.Request) handler.EventHandler {
	wake := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, request := range waiting(ctx) {
			queue.Add(request)
			queue.AddAfter(request, discoveryLag)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, queue)
		},
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, queue)
		},
	}
}
