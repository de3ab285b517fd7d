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

package workload

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryapi "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	inmemoryetcd "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/endpoint"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

// Clusters holds every cluster that machines of this process form, by endpoint.
type Clusters struct {
	runtime inmemoryruntime.Manager
	clock   clock.PassiveClock
	log     logr.Logger
	changed func()

	mu         sync.Mutex
	byEndpoint map[string]*cluster
}

// New makes an empty set of clusters. The changed function is called, never while a method runs,
// when a machine that was answered "not yet" may try again.
func New(log logr.Logger, changed func()) (*Clusters, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c := &Clusters{
		runtime:    inmemoryruntime.NewManager(scheme),
		clock:      clock.RealClock{},
		log:        log,
		changed:    changed,
		byEndpoint: map[string]*cluster{},
	}
	return c, c.watch()
}

// Start runs until the context ends, then closes all endpoints.
func (c *Clusters) Start(ctx context.Context) error {
	if err := c.runtime.Start(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cl := range c.byEndpoint {
		cl.server.Close()
	}
	return nil
}

// Boot lets a machine found or join its cluster. Booting a machine that is in
// its cluster already does nothing.
func (c *Clusters) Boot(ctx context.Context, m Machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl, err := c.admit(ctx, m)
	if err != nil {
		return err
	}
	if err := cl.checkName(ctx, m); err != nil {
		return err
	}
	return c.run(ctx, cl, m)
}

// admit finds the cluster of a machine and checks that the machine may be in it.
func (c *Clusters) admit(ctx context.Context, m Machine) (*cluster, error) {
	cl, found := c.byEndpoint[m.Plan.Endpoint]
	founder := m.Plan.Role == kubeadm.Init || m.Restored && m.controlPlane()
	switch {
	case !found && founder:
		return c.found(ctx, m)
	case !found || !founder && !cl.serving():
		return nil, notYetf("nothing answers at %s", m.Plan.Endpoint)
	}
	if err := cl.checkAuthorities(m); err != nil {
		return nil, err
	}
	switch {
	case m.Plan.Role == kubeadm.Init:
		return cl, cl.writeConfiguration(ctx, m)
	case m.Restored:
		return cl, nil
	default:
		return cl, cl.checkToken(ctx, *m.Plan.Token, c.clock.Now())
	}
}

// found starts a cluster without any Node. A cluster that a joined control
// plane brings back is marked as rebuilt: its tokens are lost.
func (c *Clusters) found(ctx context.Context, m Machine) (*cluster, error) {
	name := m.Plan.Endpoint
	c.runtime.AddResourceGroup(name)
	cl := &cluster{
		name:     name,
		pki:      m.Plan.PKI,
		client:   c.runtime.GetResourceGroup(name).GetClient(),
		machines: map[string]*member{},
		rebuilt:  m.Restored,
	}
	var err error
	resolve := func(string) (string, error) { return name, nil }
	if cl.server, err = endpoint.New(endpoint.Config{
		Address: name, PKI: m.Plan.PKI, Names: m.Plan.Cluster.APIServer.CertSANs, Version: m.Node.KubeletVersion,
		API:  c.withSubresources(cl, inmemoryapi.NewAPIServerHandler(store{c.runtime}, c.log, resolve)),
		Etcd: inmemoryetcd.NewEtcdServerHandler(c.runtime, c.log, resolve),
	}); err != nil {
		c.runtime.DeleteResourceGroup(name)
		return nil, err
	}
	if err := errors.Join(cl.install(ctx, m), cl.writeConfiguration(ctx, m)); err != nil {
		c.runtime.DeleteResourceGroup(name)
		return nil, err
	}
	c.byEndpoint[name] = cl
	c.log.Info("Cluster founded", "endpoint", name)
	return cl, nil
}

// PowerOn starts a machine again that is in its cluster.
func (c *Clusters) PowerOn(ctx context.Context, m Machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl, found := c.byEndpoint[m.Plan.Endpoint]
	if !found {
		return notYetf("the cluster at %s is gone", m.Plan.Endpoint)
	}
	return c.run(ctx, cl, m)
}

// run makes the machine a working part of the cluster.
func (c *Clusters) run(ctx context.Context, cl *cluster, m Machine) error {
	if m.Node.KubeletVersion == "" {
		var err error
		if m.Node.KubeletVersion, err = cl.version(ctx); err != nil {
			return err
		}
	}
	served := cl.serving()
	if err := cl.start(ctx, m, c.clock.Now()); err != nil {
		return err
	}
	if !served && cl.serving() {
		c.log.Info("API server listens", "endpoint", cl.name)
		go c.changed()
	}
	return nil
}

// PowerOff stops a machine; its disk, and so its place in the cluster, stays.
func (c *Clusters) PowerOff(ctx context.Context, m Machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl, found := c.byEndpoint[m.Plan.Endpoint]
	if !found {
		return nil
	}
	return cl.stop(ctx, m.Key, c.clock.Now())
}

// Wipe stops a machine and forgets its disk. A cluster whose last control plane
// is wiped is gone; otherwise the Node stays behind until a client deletes it.
func (c *Clusters) Wipe(ctx context.Context, m Machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl, found := c.byEndpoint[m.Plan.Endpoint]
	if !found {
		return nil
	}
	if err := cl.stop(ctx, m.Key, c.clock.Now()); err != nil {
		return err
	}
	delete(cl.machines, m.Key)
	if cl.hasControlPlane() {
		return nil
	}
	cl.server.Close()
	delete(c.byEndpoint, cl.name)
	c.runtime.DeleteResourceGroup(cl.name)
	c.log.Info("Cluster is gone with its last control plane", "endpoint", cl.name)
	return nil
}

// newScheme knows the kinds that the in-memory API server serves.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(
		corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme),
		storagev1.AddToScheme(scheme), policyv1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme),
	)
}

// watch observes what clients do to the clusters' objects.
func (c *Clusters) watch() error {
	var errs []error
	for _, w := range []struct {
		kind client.Object
		handler
	}{
		{&corev1.Secret{}, handler{written: c.tokenWritten}},
		{&corev1.Node{}, handler{written: c.deploymentsChanged, deleted: c.nodeDeleted}},
		{&appsv1.Deployment{}, handler{written: c.deploymentsChanged, deleted: c.deploymentsChanged}},
		{&corev1.Pod{}, handler{deleted: c.deploymentsChanged}},
	} {
		informer, err := c.runtime.GetCache().GetInformer(context.Background(), w.kind)
		if err != nil {
			return err
		}
		errs = append(errs, informer.AddEventHandler(w.handler))
	}
	return errors.Join(errs...)
}

// tokenWritten lets machines that wait for their bootstrap token try again.
func (c *Clusters) tokenWritten(_ string, obj client.Object) {
	if obj.GetNamespace() == metav1.NamespaceSystem && strings.HasPrefix(obj.GetName(), tokenPrefix) {
		go c.changed()
	}
}

// nodeDeleted collects the pods of a Node.
func (c *Clusters) nodeDeleted(name string, obj client.Object) {
	node := obj.GetName()
	c.later(name, "collect the pods of Node "+node, func(ctx context.Context, cl *cluster) error { return cl.collectPods(ctx, node) })
}

// deploymentsChanged runs what a controller of Deployments and a scheduler would.
func (c *Clusters) deploymentsChanged(name string, _ client.Object) {
	c.later(name, "run the Deployments", func(ctx context.Context, cl *cluster) error { return cl.runDeployments(ctx) })
}

// later works on a cluster. The store is locked while it calls us, hence the goroutine.
func (c *Clusters) later(name, what string, work func(context.Context, *cluster) error) {
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		cl, found := c.byEndpoint[name]
		if !found {
			return
		}
		if err := work(context.Background(), cl); err != nil {
			c.log.Error(err, "Cannot "+what, "endpoint", name)
		}
	}()
}

// handler passes on the two kinds of events that matter.
type handler struct {
	written func(cluster string, obj client.Object)
	deleted func(cluster string, obj client.Object)
}

// OnCreate implements the event handler of the in-memory cache.
func (h handler) OnCreate(cluster string, obj client.Object) {
	if h.written != nil {
		h.written(cluster, obj)
	}
}

// OnUpdate implements the event handler of the in-memory cache.
func (h handler) OnUpdate(cluster string, _, obj client.Object) { h.OnCreate(cluster, obj) }

// OnDelete implements the event handler of the in-memory cache.
func (h handler) OnDelete(cluster string, obj client.Object) {
	if h.deleted != nil {
		h.deleted(cluster, obj)
	}
}

// OnGeneric implements the event handler of the in-memory cache.
func (h handler) OnGeneric(string, client.Object) {}
