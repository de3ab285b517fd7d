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

// Package machinetemplate publishes for the cluster autoscaler what a machine would have before
// there is one: it fills status.capacity and status.nodeInfo of Metal3MachineTemplates from the
// annotations of the template and from what the servers of its machines have shown.
//
// It also gives the machines of the template its cleaning mode, as CAPM3 does: the mode is
// about the end of a machine, so a change concerns those that exist.
//
// Nothing else is done for a template. Cluster API itself makes Metal3Machines of it,
// its labels and annotations included.
package machinetemplate

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims;hardwaredata,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// Hosts finds what is published of the hosts of machines.
type Hosts interface {
	// Host returns the facts of the machine's host, and whether there are any.
	Host(ctx context.Context, machine *infrav1.Metal3Machine) (hardware.Host, bool, error)
}

// maxWrites is how many machines get the mode of their template in one pass.
const maxWrites = 10

// Reconciler reconciles Metal3MachineTemplates. All fields but WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Hosts finds host facts.
	Hosts Hosts
	// Remote wakes the controller for what Hosts reads in other clusters.
	Remote hostclaims.Connections
	// Recorder emits events.
	Recorder events.EventRecorder
	// WatchFilter restricts the controller to templates with this value of the label
	// cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string
}

// scope is what one pass has read.
type scope struct {
	// template is changed by updateStatus; before is the copy that it is compared with.
	template, before *infrav1.Metal3MachineTemplate
	// clusters are those that use the template, set by readClusters.
	clusters []*clusterv1.Cluster
	// machines are those made from the template. They share memory with the cache.
	machines []infrav1.Metal3Machine
	// servers are those of the machines that are not being deleted, set by readServers.
	servers []server
}

// Reconcile brings the status of one template in line with its annotations and machines, and the cleaning
// mode of the machines in line with the template.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.Metal3MachineTemplate{}
	if err := r.Client.Get(ctx, req.NamespacedName, template); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !template.DeletionTimestamp.IsZero() || !r.watched(template) {
		return ctrl.Result{}, nil
	}
	s := &scope{template: template, before: template.DeepCopy()}
	if err := r.readClusters(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if conditions.IsPaused(s.template, s.clusters...) {
		return ctrl.Result{}, r.patchStatus(ctx, s)
	}
	if err := r.listMachines(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	cleaned := r.setCleaningMode(ctx, s)
	if err := r.readServers(ctx, s); err != nil {
		return ctrl.Result{}, errors.Join(cleaned, err)
	}
	return ctrl.Result{}, errors.Join(cleaned, r.patchStatus(ctx, s))
}

// readClusters reads the Clusters that use the template. One that is gone pauses nothing.
func (r *Reconciler) readClusters(ctx context.Context, s *scope) error {
	for _, name := range clustersOf(s.template) {
		cluster := &clusterv1.Cluster{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.template.Namespace, Name: name}, cluster)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Cluster %s: %w", name, err)
		}
		s.clusters = append(s.clusters, cluster)
	}
	return nil
}

func (r *Reconciler) listMachines(ctx context.Context, s *scope) error {
	var list infrav1.Metal3MachineList
	err := r.Client.List(ctx, &list, client.InNamespace(s.template.Namespace),
		client.MatchingFields{byTemplate: s.template.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list Metal3Machines of the template: %w", err)
	}
	s.machines = list.Items
	return nil
}

// setCleaningMode writes the mode of the template to some of the machines that have another one; their events
// wake the template for the next ones, so that templates of others have their turn in between. The lock keeps a
// mode that the cache does not show yet: its event wakes the template again. A template without a mode leaves it
// to its machines.
func (r *Reconciler) setCleaningMode(ctx context.Context, s *scope) error {
	mode, writes := s.template.Spec.Template.Spec.AutomatedCleaningMode, 0
	var failed error
	for i := range s.machines {
		machine := &s.machines[i]
		if mode == "" || machine.Spec.AutomatedCleaningMode == mode || !r.watched(machine) || annotations.HasPaused(machine) {
			continue
		}
		if writes++; writes > maxWrites {
			break
		}
		after := machine.DeepCopy()
		after.Spec.AutomatedCleaningMode = mode
		ctrl.LoggerFrom(ctx).V(4).Info("Giving a machine the cleaning mode of its template",
			"Metal3Machine", klog.KObj(after), "automatedCleaningMode", mode)
		if err := r.Client.Patch(ctx, after, patch.Locked(machine)); client.IgnoreNotFound(err) != nil {
			failed = errors.Join(failed, fmt.Errorf("write the cleaning mode of Metal3Machine %s: %w", machine.Name, err))
		}
	}
	return failed
}

// watched reports whether the watch filter selects a template or a machine.
func (r *Reconciler) watched(o client.Object) bool {
	return r.WatchFilter == "" || labels.HasWatchLabel(o, r.WatchFilter)
}

// readServers reads what the machines have shown: of a server what is published, and what Cluster API
// reports of its Node. A machine that cannot be read fails the pass, since it might be the least.
func (r *Reconciler) readServers(ctx context.Context, s *scope) error {
	var failed error
	for i := range s.machines {
		machine := &s.machines[i]
		if !machine.DeletionTimestamp.IsZero() {
			continue
		}
		host, _, err := r.Hosts.Host(ctx, machine)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("facts of Metal3Machine %s: %w", machine.Name, err))
		}
		owner, err := util.GetOwnerMachine(ctx, r.Client, machine.ObjectMeta)
		if client.IgnoreNotFound(err) != nil {
			failed = errors.Join(failed, fmt.Errorf("read the owner of Metal3Machine %s: %w", machine.Name, err))
		}
		shown := server{host: host}
		if owner != nil && owner.Status.NodeInfo != nil {
			shown.node = *owner.Status.NodeInfo
		}
		s.servers = append(s.servers, shown)
	}
	return failed
}

// patchStatus writes the status if it has changed, locked on the version that was read: what
// was published before counts where no machine has a server.
func (r *Reconciler) patchStatus(ctx context.Context, s *scope) error {
	updateStatus(s)
	if err := patch.Changes(ctx, r.Client, s.before, s.template); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status of Metal3MachineTemplate: %w", err))
	}
	r.announce(ctx, s.before, s.template)
	return nil
}
