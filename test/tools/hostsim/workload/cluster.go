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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	inmemoryclient "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/client"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/endpoint"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

// cluster is one workload cluster. Its methods are called with the lock of
// Clusters held.
type cluster struct {
	name     string
	pki      kubeadm.PKI
	client   inmemoryclient.Client
	server   *endpoint.Server
	machines map[string]*member
	// rebuilt clusters were there before this process; what was in their API
	// and is not on the machines' disks, such as tokens, is lost.
	rebuilt bool
}

// member is a machine that is in the cluster.
type member struct {
	machine Machine
	running bool
}

// serving says whether a control plane runs, and so the endpoint answers.
func (cl *cluster) serving() bool {
	for _, m := range cl.machines {
		if m.running && m.machine.controlPlane() {
			return true
		}
	}
	return false
}

// hasControlPlane says whether any disk holds the cluster's etcd.
func (cl *cluster) hasControlPlane() bool {
	for _, m := range cl.machines {
		if m.machine.controlPlane() {
			return true
		}
	}
	return false
}

// checkAuthorities refuses a control plane that would sign with other keys than
// the rest of the cluster.
func (cl *cluster) checkAuthorities(m Machine) error {
	if !m.controlPlane() {
		return nil
	}
	if !cl.pki.Cluster.Certificate.Equal(m.Plan.PKI.Cluster.Certificate) {
		return fmt.Errorf("the cluster at %s has another authority than ca.crt of this machine", cl.name)
	}
	if !cl.pki.Etcd.Certificate.Equal(m.Plan.PKI.Etcd.Certificate) {
		return fmt.Errorf("the cluster at %s has another etcd authority than etcd/ca.crt of this machine", cl.name)
	}
	return nil
}

// checkName refuses a second machine under the name of a Node that is ready, as
// kubeadm join does.
func (cl *cluster) checkName(ctx context.Context, m Machine) error {
	if _, in := cl.machines[m.Key]; in {
		return nil
	}
	node := &corev1.Node{}
	err := cl.client.Get(ctx, client.ObjectKey{Name: m.Node.Name}, node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && ready(node) {
		return fmt.Errorf("a Node named %q is already in the cluster at %s and ready", m.Node.Name, cl.name)
	}
	return err
}

// start makes a machine run: Node, and for a control plane its static pods, its
// etcd member and the endpoint.
func (cl *cluster) start(ctx context.Context, m Machine, now time.Time) error {
	if err := cl.registerNode(ctx, m, now); err != nil {
		return err
	}
	if m.controlPlane() {
		if err := cl.startControlPlane(ctx, m, now); err != nil {
			return err
		}
	}
	cl.machines[m.Key] = &member{machine: m, running: true}
	return nil
}

func (cl *cluster) startControlPlane(ctx context.Context, m Machine, now time.Time) error {
	if err := cl.startEtcd(ctx, m.Node.Name, now); err != nil {
		return err
	}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		if err := cl.runPod(ctx, staticPod(component, m.Node.Name)); err != nil {
			return err
		}
	}
	if err := cl.server.AddMember(etcdPodName(m.Node.Name)); err != nil {
		return err
	}
	return cl.server.Listen()
}

// stop takes a machine off: its Node is unreachable, its pods do not answer, the
// endpoint closes with the last control plane.
func (cl *cluster) stop(ctx context.Context, key string, now time.Time) error {
	m, in := cl.machines[key]
	if !in || !m.running {
		return nil
	}
	m.running = false
	name := m.machine.Node.Name
	if m.machine.controlPlane() {
		cl.server.RemoveMember(etcdPodName(name))
		if !cl.serving() {
			cl.server.Close()
		}
		if err := cl.elect(ctx, name, now); err != nil {
			return err
		}
	}
	if err := cl.silencePods(ctx, name); err != nil {
		return err
	}
	return cl.loseNode(ctx, name, now)
}
