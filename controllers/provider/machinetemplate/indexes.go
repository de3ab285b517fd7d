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
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/capacity"
)

const (
	// ByTemplate is the name of the field index on Metal3Machines by the name of the
	// template that they were made from.
	ByTemplate = "hostclaim.clonedFrom"
	// ByCluster is the name of the field index on Metal3MachineTemplates by the names of
	// the Clusters that own them.
	ByCluster = "hostclaim.owningCluster"
	// ByServers is the name of the field index on Metal3MachineTemplates by the servers
	// that their machines ask for.
	ByServers = "hostclaim.servers"
)

// SetupIndexes adds the field indexes that this controller reads by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &infrav1.Metal3Machine{}, ByTemplate, templateOf); err != nil {
		return fmt.Errorf("index Metal3Machines by template: %w", err)
	}
	if err := indexer.IndexField(ctx, &infrav1.Metal3MachineTemplate{}, ByCluster, clustersOf); err != nil {
		return fmt.Errorf("index Metal3MachineTemplates by Cluster: %w", err)
	}
	if err := indexer.IndexField(ctx, &infrav1.Metal3MachineTemplate{}, ByServers, serversOf); err != nil {
		return fmt.Errorf("index Metal3MachineTemplates by servers: %w", err)
	}
	return nil
}

func templateOf(machine client.Object) []string {
	if name, ok := capacity.TemplateOf(machine.GetAnnotations()); ok {
		return []string{name}
	}
	return nil
}

func serversOf(o client.Object) []string {
	if template, ok := o.(*infrav1.Metal3MachineTemplate); ok {
		return []string{capacity.Servers(template.Spec.Template.Spec)}
	}
	return nil
}

// clustersOf names the Clusters whose control plane or workers are made from the
// template; Cluster API makes each of them an owner.
func clustersOf(template client.Object) []string {
	var names []string
	for _, owner := range template.GetOwnerReferences() {
		if owner.Kind == "Cluster" && isClusterAPI(owner.APIVersion) {
			names = append(names, owner.Name)
		}
	}
	return names
}
