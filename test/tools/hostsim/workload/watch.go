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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
	secrets, err := c.runtime.GetCache().GetInformer(context.Background(), &corev1.Secret{})
	if err != nil {
		return err
	}
	nodes, err := c.runtime.GetCache().GetInformer(context.Background(), &corev1.Node{})
	if err != nil {
		return err
	}
	return errors.Join(
		secrets.AddEventHandler(handler{written: c.tokenWritten}),
		nodes.AddEventHandler(handler{deleted: c.nodeDeleted}),
	)
}

// tokenWritten lets machines that wait for their bootstrap token try again.
func (c *Clusters) tokenWritten(_ string, obj client.Object) {
	if obj.GetNamespace() == metav1.NamespaceSystem && strings.HasPrefix(obj.GetName(), tokenPrefix) {
		go c.changed()
	}
}

// nodeDeleted collects the pods of a Node. The store is locked while it tells
// us, hence the goroutine.
func (c *Clusters) nodeDeleted(name string, obj client.Object) {
	node := obj.GetName()
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		cl, found := c.byEndpoint[name]
		if !found {
			return
		}
		if err := cl.collectPods(context.Background(), node); err != nil {
			c.log.Error(err, "Pods of a deleted Node stay behind", "endpoint", name, "node", node)
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
