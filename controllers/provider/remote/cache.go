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

package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
)

// open fills a cache, which runs until ctx ends, and has users served from it. It gives up when
// a request fails, or after a few timeouts.
func (c *connection) open(ctx context.Context, target identity.Target, running *sync.WaitGroup) *identity.Problem {
	config := config(target.Server, flowcontrol.NewTokenBucketRateLimiter(requestRate, requestBurst))
	live, err := client.New(config, client.Options{
		HTTPClient: c.transport.ForUsers(), Scheme: c.registry.scheme, Mapper: c.registry.mapper,
	})
	if err != nil {
		return identity.BadSettings.Problem(target.Server, err)
	}
	held, err := c.newCache(ctx, config, target.Namespace)
	if err != nil {
		return identity.BadSettings.Problem(target.Server, err)
	}
	select {
	case <-c.transport.Failed(): // of an earlier cache
	default:
	}
	filled := make(chan bool, 1)
	running.Go(func() { _ = held.Start(ctx) }) // it ends with the context
	running.Go(func() { filled <- held.WaitForCacheSync(ctx) })
	if problem := c.await(ctx, target, filled); problem != nil {
		return problem
	}
	c.registry.settle(ctx, c, state{site: NewSite(target, live, held)})
	return nil
}

// config is for clients that send through the transport, with one limit of requests for all
// of them, or none.
func config(server string, limit flowcontrol.RateLimiter) *rest.Config {
	return &rest.Config{
		Host: server, QPS: -1, RateLimiter: limit,
		WarningHandler: rest.NoWarnings{}, // they would write into our log
	}
}

// await waits for the cache. A request that fails meanwhile is followed up.
func (c *connection) await(ctx context.Context, target identity.Target, filled <-chan bool) *identity.Problem {
	ctx, cancel := context.WithTimeout(ctx, transport.WatchFactor*c.registry.options.RequestTimeout)
	defer cancel()
	for {
		select {
		case synced := <-filled:
			if !synced { // it was cut off meanwhile
				return c.transport.Problem(identity.Silent)
			}
			return nil
		case <-ctx.Done():
			return c.transport.Problem(identity.Silent)
		case failure := <-c.transport.Failed():
			if failure == transport.TimedOut {
				return c.transport.Problem(identity.Silent)
			}
			if problem := c.check(ctx, target); problem != nil {
				return problem
			}
			if failure == transport.Forbidden {
				return identity.RightsUnknown.Problem(target.Namespace, target.Server)
			}
		}
	}
}

// newCache returns a cache of what belongs to claims of ours in one namespace, which
// wakes the users of a claim that changes.
func (c *connection) newCache(ctx context.Context, config *rest.Config, namespace string) (cache.Cache, error) {
	ours, err := labels.Parse(infrav1.OriginKey)
	published, other := labels.Parse(infrav1.ClaimUIDLabel)
	if err = errors.Join(err, other); err != nil {
		return nil, err
	}
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	held, err := cache.New(config, cache.Options{
		HTTPClient: c.transport.ForCache(), Scheme: c.registry.scheme, Mapper: c.registry.mapper,
		// As DefaultNamespaces, which leaves goroutines behind when it ends before it is filled.
		DefaultFieldSelector:        fields.OneTermEqualSelector("metadata.namespace", namespace),
		NewInformer:                 newInformer,
		DefaultTransform:            strip,
		DefaultWatchErrorHandler:    func(context.Context, *toolscache.Reflector, error) {}, // the transport reports it
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&bmov1alpha1.HostClaim{}:    {Label: ours},
			secrets:                     {Label: ours},
			&bmov1alpha1.HardwareData{}: {Label: published}, // hosts may be in the same namespace, with their own
		},
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range []client.Object{&bmov1alpha1.HostClaim{}, secrets, &bmov1alpha1.HardwareData{}} {
		if err := c.listen(ctx, held, kind); err != nil {
			return nil, err
		}
	}
	return held, held.IndexField(ctx, &bmov1alpha1.HostClaim{}, OriginIndex,
		func(o client.Object) []string { return []string{o.GetLabels()[infrav1.OriginKey]} })
}

// newInformer makes an informer of which nothing is left when it has stopped.
func newInformer(from toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	source := toolscache.ToListerWatcherWithContext(from)
	return toolscache.NewSharedIndexInformer(lister{&toolscache.ListWatch{
		ListWithContextFunc: source.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := source.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return drained{events}, nil
		},
	}}, example, resync, indexers)
}

// lister does not stream lists: an answer counts while it is read, but the objects of a
// streamed list would count only at its end, which a hostile server need not send.
type lister struct{ *toolscache.ListWatch }

// IsWatchListSemanticsUnSupported is read by the reflector.
func (lister) IsWatchListSemanticsUnSupported() bool { return true }

// drained reads what is left of a watch that is stopped: controller-runtime has a goroutine
// that waits for the reader of the next event of metadata.
type drained struct{ watch.Interface }

// Stop ends the watch.
func (d drained) Stop() {
	d.Interface.Stop()
	for range d.ResultChan() { // of no use
	}
}

// listen has users woken by the changes of a kind.
func (c *connection) listen(ctx context.Context, held cache.Cache, kind client.Object) error {
	informer, err := held.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	changed := func(before, after any) {
		c.meter.replace(before, after)
		for origin := range sets.New(originOf(ctx, held, before), originOf(ctx, held, after)).Delete("") {
			c.registry.changed(ctx, c, origin)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { changed(nil, object) },
		UpdateFunc: changed,
		DeleteFunc: func(object any) {
			if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			changed(object, nil)
		},
	})
	return err
}

// strip drops the parts of objects that are never read.
func strip(object any) (any, error) {
	if o, ok := object.(client.Object); ok {
		o.SetManagedFields(nil)
	}
	if data, ok := object.(*bmov1alpha1.HardwareData); ok {
		hardware.Strip(data)
	}
	return object, nil
}

// originOf is the origin of an object, or of the claim that owns a HardwareData; empty if the
// claim is none of ours, or not known yet: its own event follows.
func originOf(ctx context.Context, reader client.Reader, object any) string {
	switch o := object.(type) {
	case *bmov1alpha1.HardwareData:
		for _, owner := range o.OwnerReferences {
			claim := &bmov1alpha1.HostClaim{}
			key := client.ObjectKey{Namespace: o.Namespace, Name: owner.Name}
			if owner.Kind == claims.Kind && reader.Get(ctx, key, claim) == nil {
				return claim.Labels[infrav1.OriginKey]
			}
		}
		return ""
	case client.Object:
		return o.GetLabels()[infrav1.OriginKey]
	default:
		return ""
	}
}

// kinds are the kinds that this package uses, with their resources: other clusters are not
// asked for them.
func kinds() (*runtime.Scheme, meta.RESTMapper, error) {
	scheme, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	builder := runtime.NewSchemeBuilder(corev1.AddToScheme, bmov1alpha1.AddToScheme)
	for plural, kind := range map[string]schema.GroupVersionKind{
		"hostclaims":   bmov1alpha1.GroupVersion.WithKind("HostClaim"),
		"hardwaredata": bmov1alpha1.GroupVersion.WithKind("HardwareData"),
		"secrets":      corev1.SchemeGroupVersion.WithKind("Secret"),
	} {
		resource := kind.GroupVersion().WithResource(plural)
		mapper.AddSpecific(kind, resource, resource, meta.RESTScopeNamespace)
		mapper.Add(kind.GroupVersion().WithKind(kind.Kind+"List"), meta.RESTScopeNamespace) // caches ask for it too
	}
	return scheme, mapper, builder.AddToScheme(scheme)
}
