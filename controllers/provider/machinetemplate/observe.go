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

package machinetemplate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/capacity"
)

// observe reads what the machines of the template have shown. One that cannot be read
// ends the pass, since it might be the least.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	if s.paused() {
		return nil
	}
	var list infrav1.Metal3MachineList
	err := r.Client.List(ctx, &list, client.InNamespace(s.template.Namespace),
		client.MatchingFields{ByTemplate: s.template.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list Metal3Machines of the template: %w", err)
	}
	s.drifted = drifted(s.template, list.Items, r.WatchFilter)
	var problems error
	for i := range list.Items {
		machine, err := r.machine(ctx, &list.Items[i])
		problems = errors.Join(problems, err)
		s.machines = append(s.machines, machine)
	}
	if promisesNothing(s.template) {
		siblings, err := r.siblings(ctx, s.template)
		problems = errors.Join(problems, err)
		for _, sibling := range siblings {
			s.siblings = append(s.siblings, promiseOf(sibling))
		}
	}
	return problems
}

// siblings are the other templates whose machines ask for the same servers, in the same
// Cluster: another one may have its servers in another place. They share memory with the cache.
func (r *Reconciler) siblings(ctx context.Context, of *infrav1.Metal3MachineTemplate) ([]*infrav1.Metal3MachineTemplate, error) {
	var list infrav1.Metal3MachineTemplateList
	err := r.Client.List(ctx, &list, client.InNamespace(of.Namespace),
		client.MatchingFields{ByServers: capacity.Servers(of.Spec.Template.Spec)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list Metal3MachineTemplates for the same servers: %w", err)
	}
	clusters := clustersOf(of)
	var siblings []*infrav1.Metal3MachineTemplate
	for i := range list.Items {
		other := &list.Items[i]
		shared := slices.ContainsFunc(clustersOf(other), func(name string) bool { return slices.Contains(clusters, name) })
		if shared && other.UID != of.UID {
			siblings = append(siblings, other)
		}
	}
	return siblings, nil
}

// machine reads what one machine has shown: of its server what is published, and what
// its Node tells Cluster API.
func (r *Reconciler) machine(ctx context.Context, metal3 *infrav1.Metal3Machine) (capacity.Machine, error) {
	if !metal3.DeletionTimestamp.IsZero() {
		return capacity.Machine{Deleting: true}, nil
	}
	host, _, err := r.Hosts.Host(ctx, metal3)
	if err != nil {
		return capacity.Machine{}, fmt.Errorf("facts of Metal3Machine %s: %w", metal3.Name, err)
	}
	m := capacity.Machine{CPUs: host.CPUs, MemoryMebibytes: host.MemoryMebibytes, Hardware: host.Architecture}
	owner, err := util.GetOwnerMachine(ctx, r.Client, metal3.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return capacity.Machine{}, fmt.Errorf("read the owner of Metal3Machine %s: %w", metal3.Name, err)
	}
	if err == nil && owner != nil && owner.Status.NodeInfo != nil {
		m.Architecture, m.OperatingSystem = owner.Status.NodeInfo.Architecture, owner.Status.NodeInfo.OperatingSystem
	}
	return m, nil
}
