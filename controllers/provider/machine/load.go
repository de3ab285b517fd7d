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

package machine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/tenantsecrets"
)

// load reads the machine and what stands above it. Only a machine that is gone,
// or not ours to watch, is not found; the rest may be missing. What was kept for it
// goes. One that is gone may have been the last of its namespace.
func (r *Reconciler) load(ctx context.Context, key types.NamespacedName) (*scope, bool, error) {
	s := &scope{machine: &infrav1.Metal3Machine{}}
	err := r.Client.Get(ctx, key, s.machine)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("read Metal3Machine: %w", err)
	}
	if err != nil || !r.watches(s.machine) {
		r.stale.Forget(key)
		r.written.Forget(key)
		r.writtenClaims.Forget(key)
		r.writtenDataClaims.Forget(key)
		r.reports.Forget(key)
		r.Remote.Release(remote.User{Kind: claims.MachineKind, NamespacedName: key})
		return nil, false, tenantsecrets.Release(ctx, r.Secrets, r.Client, key.Namespace)
	}
	owner, err := util.GetOwnerMachine(ctx, r.Client, s.machine.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("read the owner of Metal3Machine: %w", err)
	}
	if err == nil {
		s.owner = owner
	}
	if err := r.loadCluster(ctx, s); err != nil {
		return nil, false, err
	}
	return s, true, nil
}

// watches says that the machine is one of those that the controller is restricted to.
func (r *Reconciler) watches(machine *infrav1.Metal3Machine) bool {
	return r.WatchFilter == "" || labels.HasWatchLabel(machine, r.WatchFilter)
}

// loadCluster reads the Cluster and its infrastructure. A machine that lost its
// Machine finds its Cluster by label, so that a pause is still honored.
func (r *Reconciler) loadCluster(ctx context.Context, s *scope) error {
	name := s.machine.Labels[clusterv1.ClusterNameLabel]
	if s.owner != nil {
		name = s.owner.Spec.ClusterName
	}
	if name == "" {
		return nil
	}
	cluster := &clusterv1.Cluster{}
	key := types.NamespacedName{Namespace: s.machine.Namespace, Name: name}
	if err := r.Client.Get(ctx, key, cluster); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read Cluster %s: %w", key, err)
	}
	s.cluster = cluster
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupName || ref.Kind != "Metal3Cluster" {
		return nil
	}
	infra := &infrav1.Metal3Cluster{}
	key.Name = ref.Name
	if err := r.Client.Get(ctx, key, infra); err != nil {
		if apierrors.IsNotFound(err) {
			s.infraMissing = true
			return nil
		}
		return fmt.Errorf("read Metal3Cluster %s: %w", key, err)
	}
	s.infra = infra
	return nil
}
