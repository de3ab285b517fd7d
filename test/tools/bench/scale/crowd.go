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

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/town"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// What the timeline notes of machines.
const (
	asked site.Mark = "asked for"
	bound site.Mark = "bound"
	ready site.Mark = "ready"
	gone  site.Mark = "gone"
)

const (
	dataTemplate = "nodes"
	nodes        = `
metaData:
  indexes: [{key: index, prefix: node-}]
networkData:
  links: {ethernets: [{id: e0, type: phy, macAddress: {fromHostInterface: ens1f0np0}}]}
  networks: {ipv4: [{id: n0, link: e0, ipAddressFromIPPool: nodes, routes: [{network: 0.0.0.0, gateway: {fromIPPool: nodes}}]}]}
`
)

// crowd are the machines of one shape.
type crowd struct {
	*bench
	shape
	// name starts that of each namespace.
	name string
	// generation is how often the machines were replaced.
	generation int
}

// watch notes what happens to machines and their claims, which have the machines' names.
func (b *bench) watch(ctx context.Context) error {
	return errors.Join(
		b.Follow(ctx, &infrav1.Metal3MachineList{}, func(object any, now time.Time) {
			switch o := object.(type) {
			case site.Gone:
				b.seen.Note(gone, client.ObjectKeyFromObject(o.Object), now)
			case *infrav1.Metal3Machine:
				if conditions.IsTrue(o, infrav1.ReadyCondition) {
					b.seen.Note(ready, client.ObjectKeyFromObject(o), now)
				}
			}
		}),
		b.Follow(ctx, &bmov1alpha1.HostClaimList{}, func(object any, now time.Time) {
			claim, ok := object.(*bmov1alpha1.HostClaim)
			if ok && meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.AssociatedCondition) {
				b.seen.Note(bound, client.ObjectKeyFromObject(claim), now)
			}
		}))
}

// addHosts makes free hosts that any machine may have.
func (b *bench) addHosts(ctx context.Context, count int) error {
	program.Say("registering %d hosts", count)
	return site.InParallel(ctx, 0, count, func(ctx context.Context, n int) error {
		return b.AddHost(ctx, site.NewHost(town.Infra, fmt.Sprintf("server-%05d", n), nil))
	})
}

// furnish makes a namespace for each cluster, with a data template and a pool of addresses.
func (c *crowd) furnish(ctx context.Context) error {
	program.Say("%s", c.shape)
	return site.InParallel(ctx, 0, c.clusters, func(ctx context.Context, n int) error {
		template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(n), Name: dataTemplate}}
		if err := yaml.UnmarshalStrict([]byte(nodes), &template.Spec); err != nil {
			return err
		}
		if err := c.Tenant(ctx, template.Namespace); err != nil {
			return err
		}
		return errors.Join(c.Create(ctx, template), c.Create(ctx, &ipamv1alpha1.IPPool{
			ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: dataTemplate},
			Spec: ipamv1alpha1.IPPoolSpec{
				ClusterName: ptr.To(town.ClusterName), NamePrefix: dataTemplate, Prefix: 16,
				Gateway: ptr.To(ipamv1alpha1.IPAddressStr("10.0.0.1")),
				Pools:   []ipamv1alpha1.Pool{{Start: ptr.To(ipamv1alpha1.IPAddressStr("10.0.1.0")), End: ptr.To(ipamv1alpha1.IPAddressStr("10.0.31.255"))}},
			},
		}))
	})
}

func (c *crowd) namespace(n int) string { return fmt.Sprintf("%s-%03d", c.name, n) }

// key is the n-th machine of a generation; those of one cluster do not follow one another.
func (c *crowd) key(n, generation int) types.NamespacedName {
	return types.NamespacedName{Namespace: c.namespace(n % c.clusters), Name: fmt.Sprintf("machine-%04d-%d", n/c.clusters, generation)}
}

func (c *crowd) keys() []types.NamespacedName {
	keys := make([]types.NamespacedName, c.machines())
	for n := range keys {
		keys[n] = c.key(n, c.generation)
	}
	return keys
}

// add makes the n-th machine of the present generation.
func (c *crowd) add(ctx context.Context, n int) error {
	key := c.key(n, c.generation)
	c.seen.Note(asked, key, time.Now())
	return c.Machine(ctx, key, func(m *infrav1.Metal3Machine) {
		m.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: dataTemplate}
	})
}

// remove deletes the n-th machine of a generation, and returns when it is gone.
func (c *crowd) remove(ctx context.Context, n, generation int) error {
	key := c.key(n, generation)
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
	if err := c.Delete(ctx, &infrav1.Metal3Machine{ObjectMeta: meta}); err != nil {
		return err
	}
	if _, err := c.seen.Await(ctx, gone, key); err != nil {
		return err
	}
	return c.Delete(ctx, &clusterv1.Machine{ObjectMeta: meta})
}

// replace lets another machine come for the n-th one.
func (c *crowd) replace(ctx context.Context, n int) error {
	if err := c.remove(ctx, n, c.generation-1); err != nil {
		return err
	}
	if err := c.add(ctx, n); err != nil {
		return err
	}
	_, err := c.seen.Await(ctx, ready, c.key(n, c.generation))
	return err
}

// since is how long each machine took to get a mark.
func (c *crowd) since(mark site.Mark) []time.Duration {
	var took []time.Duration
	for _, key := range c.keys() {
		took = append(took, c.seen.At(mark, key).Sub(c.seen.At(asked, key)))
	}
	return took
}
