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

package world

import (
	"context"
	"errors"
	"fmt"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Scheme knows every kind of the story.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(
		corev1.AddToScheme(scheme),
		rbacv1.AddToScheme(scheme),
		clusterv1.AddToScheme(scheme),
		bootstrapv1.AddToScheme(scheme),
		controlplanev1.AddToScheme(scheme),
		runtimev1.AddToScheme(scheme),
		infrav1.AddToScheme(scheme),
		hostclaimv1.AddToScheme(scheme),
		bmov1alpha1.AddToScheme(scheme),
		ipamv1alpha1.AddToScheme(scheme),
	)
}

// ofTenants are the kinds whose changes wake waits, on the side of the tenants.
func ofTenants() []client.Object {
	return []client.Object{
		&clusterv1.Cluster{},
		&clusterv1.Machine{},
		&clusterv1.MachineDeployment{},
		&controlplanev1.KubeadmControlPlane{},
		&infrav1.Metal3Machine{},
	}
}

// ofHosts are those beside the hosts.
func ofHosts() []client.Object {
	return []client.Object{
		&bmov1alpha1.HostClaim{},
		&bmov1alpha1.BareMetalHost{},
	}
}

// live are the kinds that are always read from the API server.
func live() []client.Object {
	return []client.Object{
		&corev1.Secret{},
		&corev1.Namespace{},
		&corev1.Event{},
		&bmov1alpha1.HardwareData{},
		&bmov1alpha1.HostDeployPolicy{},
		&infrav1.Metal3Data{},
		&bootstrapv1.KubeadmConfigTemplate{},
		&runtimev1.ExtensionConfig{},
		&ipamv1alpha1.IPPool{},
		&ipamv1alpha1.IPAddress{},
	}
}

// World is a live view of one dev cluster, or of two where the hosts are in
// another one. Reads of watched kinds come from memory; writes, and reads of other
// kinds, go to the API server.
type World struct {
	// Client is that of the cluster where the tenants work.
	client.Client

	// Hosts is that of the cluster with the hosts and the claims on them; where
	// there is only one cluster, the same as Client.
	Hosts client.Client

	mu      sync.Mutex
	changed chan struct{}
}

// Open begins to watch and returns when the first look is complete. The watches
// end with the context.
func Open(ctx context.Context, config *rest.Config) (*World, error) {
	w := &World{changed: make(chan struct{})}
	var err error
	if w.Client, err = w.watch(ctx, config, append(ofTenants(), ofHosts()...)); err != nil {
		return nil, err
	}
	w.Hosts = w.Client
	return w, nil
}

// OpenPair does so where the hosts are in another cluster than the tenants.
func OpenPair(ctx context.Context, tenants, hosts *rest.Config) (*World, error) {
	w := &World{changed: make(chan struct{})}
	var err error
	if w.Client, err = w.watch(ctx, tenants, ofTenants()); err != nil {
		return nil, err
	}
	if w.Hosts, err = w.watch(ctx, hosts, ofHosts()); err != nil {
		return nil, fmt.Errorf("cluster with the hosts: %w", err)
	}
	return w, nil
}

// watch returns a client that has the given kinds in memory.
func (w *World) watch(ctx context.Context, config *rest.Config, kinds []client.Object) (client.Client, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	objects, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{
		Scheme: scheme,
		// Everything but what is watched is rare and must be fresh.
		Cache: &client.CacheOptions{Reader: objects, DisableFor: live()},
	})
	if err != nil {
		return nil, err
	}
	go func() {
		// It ends without an error when the context does; a failure shows below.
		_ = objects.Start(ctx)
	}()
	for _, kind := range kinds {
		informer, err := objects.GetInformer(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.notify() },
			UpdateFunc: func(any, any) { w.notify() },
			DeleteFunc: func(any) { w.notify() },
		}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Until waits until check finds nothing missing any more. It runs check at once
// and again after each change. When the context ends, the error names what was missing.
func (w *World) Until(ctx context.Context, check func(context.Context) (missing string, err error)) error {
	for {
		changed := w.Changed()
		missing, err := check(ctx)
		if err != nil || missing == "" {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w; still missing: %s", context.Cause(ctx), missing)
		}
	}
}

// Changed returns a channel that is closed at the next change of a watched object.
func (w *World) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

func (w *World) notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}
