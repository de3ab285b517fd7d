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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inmemoryclient "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/client"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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

// serving reports whether a control plane runs, and so the endpoint answers.
func (cl *cluster) serving() bool {
	for _, m := range cl.machines {
		if m.running && m.machine.controlPlane() {
			return true
		}
	}
	return false
}

// hasControlPlane reports whether any disk holds the cluster's etcd.
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

// The cluster's own record of what it was founded with.
const (
	configurationName = "kubeadm-config"
	configurationKey  = "ClusterConfiguration"
)

// writeConfiguration publishes the configuration that the cluster was founded with. A control plane
// that joined does not have it; what it can publish is replaced when the founder, if it still
// exists, comes back too.
func (cl *cluster) writeConfiguration(ctx context.Context, m Machine) error {
	document := m.Plan.ClusterYAML
	if document == "" {
		document = fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: kubernetes\n"+
			"controlPlaneEndpoint: %s\nkubernetesVersion: %s\n", m.Plan.Endpoint, m.Node.KubeletVersion)
	}
	wanted := configMap(metav1.NamespaceSystem, configurationName, configurationKey, document)
	err := cl.create(ctx, wanted)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	data := wanted.Data
	return cl.change(ctx, wanted, func() { wanted.Data = data })
}

// version is the Kubernetes version that the cluster is configured for, which an
// upgrade changes before it replaces machines.
func (cl *cluster) version(ctx context.Context) (string, error) {
	record := &corev1.ConfigMap{}
	if err := cl.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: configurationName}, record); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	var config kubeadm.ClusterConfiguration
	if err := yaml.Unmarshal([]byte(record.Data[configurationKey]), &config); err != nil {
		return "", fmt.Errorf("ConfigMap %s: %w", configurationName, err)
	}
	return config.KubernetesVersion, nil
}

// notYetError is a refusal that time may heal: kubeadm keeps trying for a while.
type notYetError struct{ reason string }

func (e *notYetError) Error() string { return e.reason }

// IsNotYet reports whether the machine may succeed later with the same configuration.
func IsNotYet(err error) bool {
	var notYet *notYetError
	return errors.As(err, &notYet)
}

func notYetf(format string, args ...any) error {
	return &notYetError{reason: fmt.Sprintf(format, args...)}
}

// Machine is a server with an operating system on its disk.
type Machine struct {
	// Key identifies a machine: a server deployed anew is another machine.
	Key  string
	Plan kubeadm.Plan
	Node NodeFacts
	// Restored machines joined their cluster before this process started: their
	// disks hold the credentials that a token once gave them, and an etcd with
	// the cluster's data. They need no token, and a restored control plane may
	// bring its cluster back.
	Restored bool
}

// NodeFacts are what the kubelet finds out about its machine.
type NodeFacts struct {
	Name      string
	Addresses []string
	// KubeletVersion is empty for what the cluster is configured for.
	KubeletVersion string
	SystemUUID     string
	Architecture   string
	Capacity       corev1.ResourceList
}

// Capacity describes the size of a machine the way a kubelet reports it.
func Capacity(cpus, memoryMiB int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(cpus), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(memoryMiB)<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
}

func (m Machine) controlPlane() bool { return m.Plan.Role != kubeadm.JoinWorker }
