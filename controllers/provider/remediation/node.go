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

package remediation

import (
	"context"
	"errors"

	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/remediations"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
)

// nodeSteps move the workload away from the Node of the machine, and restore the Node.
type nodeSteps struct {
	nodes      nodes.Nodes
	controller clustercache.SourceWatcher[ctrl.Request]
	mapNode    nodes.MapFunc
	departures *departures
}

// observe looks at the Node, as far as the decision needs it. A workload cluster that cannot
// be reached is a fact: its connection wakes us.
func (n nodeSteps) observe(ctx context.Context, s *scope) progress.Outcome {
	s.node, s.nodeErr, s.observed.Workload = nil, nil, remediations.Workload{}
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.remediation)}
	if !s.observed.Evacuating() {
		n.departures.end(request)
	}
	if !s.observed.AsksForNode() {
		return progress.Outcome{}
	}
	workload, err := n.read(ctx, s)
	switch {
	case err == nil:
		workload.Access = remediations.Connected
	case errors.Is(err, nodes.ErrNotConnected):
		workload = remediations.Workload{Access: remediations.Disconnected}
	case nodes.Denied(err):
		workload = remediations.Workload{Access: remediations.Denied}
	default:
		workload, s.nodeErr = remediations.Workload{Access: remediations.Failing}, err
	}
	s.observed.Workload = workload
	return progress.Outcome{}
}

// read watches the Nodes, then reads that of the machine, and what is on it if it is to be
// moved away.
func (n nodeSteps) read(ctx context.Context, s *scope) (remediations.Workload, error) {
	w := remediations.Workload{}
	if err := n.nodes.Watch(ctx, s.clusterKey(), n.controller, n.mapNode); err != nil {
		return w, err
	}
	node, found, err := n.nodes.Read(ctx, s.clusterKey(), s.observed.Machine.Node)
	if err != nil || !found {
		return w, err
	}
	s.node = node
	w.Found, w.Tainted = true, remediations.Tainted(node)
	if !s.observed.Evacuating() || !w.Tainted {
		return w, nil
	}
	return n.readRest(ctx, s, w)
}

// readRest counts what is still on the Node, after the watch on it has been asked for.
func (n nodeSteps) readRest(ctx context.Context, s *scope, w remediations.Workload) (remediations.Workload, error) {
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.remediation)}
	cluster, node := s.clusterKey(), s.node.Name
	n.departures.begin(request, func(ctx context.Context, left func()) error {
		return n.nodes.Departures(ctx, cluster, node, left)
	})
	pods, err := n.nodes.Pods(ctx, s.clusterKey(), s.node.Name, remediations.MustLeave)
	if err != nil || pods > 0 {
		w.Pods = pods
		return w, err
	}
	w.Volumes, err = n.nodes.Volumes(ctx, s.clusterKey(), s.node.Name)
	return w, err
}

// taint has Kubernetes move away what is on the Node.
func (n nodeSteps) taint(ctx context.Context, s *scope) error {
	ctrl.LoggerFrom(ctx).Info("Declaring the Node out of service", "Node", klog.KObj(s.node))
	return n.nodes.Write(ctx, s.clusterKey(), s.node, remediations.Taint(s.node))
}

// untaint puts the Node into service again.
func (n nodeSteps) untaint(ctx context.Context, s *scope) error {
	ctrl.LoggerFrom(ctx).Info("Restoring the Node", "Node", klog.KObj(s.node))
	return n.nodes.Write(ctx, s.clusterKey(), s.node, remediations.Untaint(s.node))
}
