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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/hardware"
)

const (
	clusterName = "bench"
	// tenantRole lets the manager keep secrets in a namespace.
	tenantRole = "capm3-tenant-secrets"
	// firstTemplate serves the machine that comes before the others.
	firstTemplate = "first"
	// poolAnnotation names the pool on the Metal3Machine.
	poolAnnotation = "pool"

	// nodes is a template up to where its last network gets its address from.
	nodes = `
metaData:
  indexes: [{key: index, prefix: node-}]
  fromHostInterfaces: [{key: mac, interface: ens1f0np0}]
  objectNames: [{key: machine, object: machine}]
networkData:
  links:
    ethernets: [{id: e0, type: phy, macAddress: {fromHostInterface: ens1f0np0}}]
    vlans: [{id: v200, vlanID: 200, vlanLink: e0, macAddress: {fromHostInterface: ens1f0np0}}]
  networks:
    ipv4DHCP: [{id: storage, link: v200}]
    ipv4:
    - id: n0
      link: e0
`
	fromPool = `
      ipAddressFromIPPool: %[1]s
      routes: [{network: 0.0.0.0, gateway: {fromIPPool: %[1]s}}]
  services: {dnsFromIPPool: %[1]s}
`
	fromAnnotation = `
      fromPoolAnnotation: {object: metal3machine, annotation: pool}
      routes: [{network: 0.0.0.0, gateway: {fromPoolAnnotation: {object: metal3machine, annotation: pool}}}]
`
)

// tenant is the namespace of one crowd: a Cluster with pools, templates and machines
// whose servers are bound.
type tenant struct {
	*site.Site
	namespace string
	plan
	// shared says that one template serves all machines.
	shared   bool
	machines []*infrav1.Metal3Machine
}

func (tn *tenant) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: tn.namespace, Name: name}
}

// furnish makes everything but the claims for data. One machine more gets data
// without an address, so that the manager begins to watch the secrets of the
// namespace; its claim is returned.
func (tn *tenant) furnish(ctx context.Context, server *harness.Server) (types.NamespacedName, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tn.namespace}}
	if err := tn.Create(ctx, ns); err != nil {
		return types.NamespacedName{}, err
	}
	err := errors.Join(
		server.Bind(ctx, harness.ProviderAccount(), tn.namespace, tenantRole),
		tn.Create(ctx, builder.Cluster(tn.key(clusterName))),
		tn.addTemplate(ctx, firstTemplate, "metaData: {objectNames: [{key: machine, object: machine}]}"))
	for n := range tn.pools {
		err = errors.Join(err, tn.addPool(ctx, n))
	}
	last := tn.plan.machines()
	tn.machines = make([]*infrav1.Metal3Machine, last+1)
	err = errors.Join(err, site.InParallel(ctx, 0, last+1, tn.addMachine))
	if err != nil {
		return types.NamespacedName{}, err
	}
	first := builder.DataClaim(tn.machines[last], firstTemplate)
	tn.machines = tn.machines[:last]
	return client.ObjectKeyFromObject(first), tn.Create(ctx, first)
}

func poolName(n int) string { return fmt.Sprintf("pool-%d", n) }

// template is the name of the one that serves the machines of a pool.
func (tn *tenant) template(pool int) string {
	if tn.shared {
		return "nodes"
	}
	return fmt.Sprintf("nodes-of-pool-%d", pool)
}

// addPool makes a pool with as many addresses as are asked for, and its template
// if it has one of its own.
func (tn *tenant) addPool(ctx context.Context, n int) error {
	address := func(last int) *ipamv1alpha1.IPAddressStr {
		return ptr.To(ipamv1alpha1.IPAddressStr(fmt.Sprintf("10.0.%d.%d", n, last)))
	}
	pool := &ipamv1alpha1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: tn.namespace, Name: poolName(n)},
		Spec: ipamv1alpha1.IPPoolSpec{
			ClusterName: ptr.To(clusterName), NamePrefix: poolName(n), Prefix: 24, Gateway: address(1),
			DNSServers: []ipamv1alpha1.IPAddressStr{"192.0.2.53"},
			Pools:      []ipamv1alpha1.Pool{{Start: address(10), End: address(9 + tn.perPool)}},
		},
	}
	if err := tn.Create(ctx, pool); err != nil {
		return err
	}
	switch {
	case !tn.shared:
		return tn.addTemplate(ctx, tn.template(n), nodes+fmt.Sprintf(fromPool, pool.Name))
	case n == 0:
		return tn.addTemplate(ctx, tn.template(n), nodes+fromAnnotation)
	default:
		return nil
	}
}

func (tn *tenant) addTemplate(ctx context.Context, name, spec string) error {
	template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: tn.namespace, Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &template.Spec); err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	return tn.Create(ctx, template)
}

// addMachine makes a machine with a server, as Cluster API, the machine controller
// and the hostclaim manager would.
func (tn *tenant) addMachine(ctx context.Context, n int) error {
	owner := builder.Machine(tn.key(fmt.Sprintf("machine-%04d", n)), clusterName)
	if err := tn.Create(ctx, owner); err != nil {
		return err
	}
	m := builder.PausedMetal3Machine(owner)
	m.Annotations[poolAnnotation] = poolName(n % tn.pools)
	if err := tn.Create(ctx, m); err != nil {
		return err
	}
	tn.machines[n] = m
	claim := builder.HostClaim(m)
	if err := tn.Create(ctx, claim); err != nil {
		return err
	}
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: tn.namespace, Name: m.Name}}
	if err := tn.Create(ctx, builder.Published(claim, hardware.Of(host))); err != nil {
		return err
	}
	before := claim.DeepCopy()
	builder.Bind(claim)
	return tn.Status().Patch(ctx, claim, client.MergeFrom(before))
}

// claim asks for the data of a machine.
func (tn *tenant) claim(n int) *infrav1.Metal3DataClaim {
	return builder.DataClaim(tn.machines[n], tn.template(n%tn.pools))
}
