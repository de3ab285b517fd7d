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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

// Site is one namespace of another cluster, as a user sees it. It is good for one
// pass; the next one asks again.
type Site struct {
	// Target is where the site is. Claims live in its namespace.
	Target identity.Target
	// Client reads HostClaims and HardwareData of that namespace from the cache of the
	// connection, HostClaims only with the label OriginKey; likewise Secrets, as
	// PartialObjectMetadata. All else it reads from, and everything it writes to, the
	// server. It refuses other namespaces. Every request ends in bounded time, and no
	// error has words of the server that may not be shown.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
}

// NewSite returns the site of a target, with a client that reads past the cache.
func NewSite(target identity.Target, live client.Client, cached client.Reader) Site {
	own := client.NewNamespacedClient(live, target.Namespace)
	return Site{
		Target: target,
		Client: &siteClient{Client: own, cached: cached},
		Live:   &siteClient{Client: own, cached: own},
	}
}

// siteClient reads from a cache what is in it, and sanitizes errors.
type siteClient struct {
	client.Client

	cached client.Reader
}

// Get reads one object.
func (c *siteClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return Sanitize(c.reader(o).Get(ctx, key, o, options...))
}

// List lists objects.
func (c *siteClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return Sanitize(c.reader(list).List(ctx, list, options...))
}

func (c *siteClient) reader(of runtime.Object) client.Reader {
	switch of.(type) {
	case *bmov1alpha1.HostClaim, *bmov1alpha1.HardwareData, *metav1.PartialObjectMetadata,
		*bmov1alpha1.HostClaimList, *bmov1alpha1.HardwareDataList, *metav1.PartialObjectMetadataList:
		return c.cached
	default:
		return c.Client
	}
}

// Apply writes an object. Only of a HostClaim it is known that the answer repeats no secret.
func (c *siteClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	kind, known := o.(interface{ GetKind() string })
	return sanitize(c.Client.Apply(ctx, o, options...), !known || kind.GetKind() != claims.Kind)
}

// Patch changes an object.
func (c *siteClient) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	_, claim := o.(*bmov1alpha1.HostClaim)
	return sanitize(c.Client.Patch(ctx, o, patch, options...), !claim)
}

// Create creates an object.
func (c *siteClient) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return sanitize(c.Client.Create(ctx, o, options...), true)
}

// Delete deletes an object.
func (c *siteClient) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return Sanitize(c.Client.Delete(ctx, o, options...))
}
