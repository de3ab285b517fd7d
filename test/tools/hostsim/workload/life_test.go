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
	"net"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

// threeMachines is a cluster of two control planes and a worker.
func threeMachines(l *lab) (first, second, worker Machine) {
	first, second, worker = l.machine("cp-0", kubeadm.Init), l.machine("cp-1", kubeadm.JoinControlPlane), l.machine("worker-0", kubeadm.JoinWorker)
	l.mustBoot(first)
	l.addToken(nil)
	l.mustBoot(second, worker)
	return first, second, worker
}

func TestPowerOffAndOn(t *testing.T) {
	g, l := gomega.NewWithT(t), newLab(t)
	first, second, worker := threeMachines(l)

	g.Expect(l.PowerOff(t.Context(), worker)).To(gomega.Succeed())
	node := l.node("worker-0")
	g.Expect(ready(node)).To(gomega.BeFalse())
	g.Expect(node.Spec.Taints).To(gomega.HaveLen(2), "unreachable, for scheduling and execution")
	g.Expect(l.PowerOn(t.Context(), worker)).To(gomega.Succeed())
	g.Expect(ready(l.node("worker-0"))).To(gomega.BeTrue())
	g.Expect(l.node("worker-0").Spec.Taints).To(gomega.BeEmpty())

	g.Expect(l.PowerOff(t.Context(), first)).To(gomega.Succeed())
	g.Expect(l.readyPods()).To(gomega.ConsistOf("etcd-cp-1", "kube-apiserver-cp-1", "kube-controller-manager-cp-1", "kube-scheduler-cp-1"))
	g.Expect(l.etcdLeader("cp-1")).To(gomega.Equal("cp-1"), "etcd elects another leader")

	g.Expect(l.PowerOff(t.Context(), second)).To(gomega.Succeed())
	_, err := net.Dial("tcp", l.sample.Endpoint)
	g.Expect(err).To(gomega.HaveOccurred(), "the endpoint closes with the last control plane")
	g.Expect(IsNotYet(l.Boot(t.Context(), l.machine("late", kubeadm.JoinWorker)))).To(gomega.BeTrue())

	g.Expect(l.PowerOn(t.Context(), first)).To(gomega.Succeed())
	g.Expect(ready(l.node("cp-0"))).To(gomega.BeTrue(), "the cluster's data survived on the disks")
}

func TestWipe(t *testing.T) {
	g, l := gomega.NewWithT(t), newLab(t)
	first, second, worker := threeMachines(l)

	g.Expect(l.Wipe(t.Context(), first)).To(gomega.Succeed())
	g.Expect(ready(l.node("cp-0"))).To(gomega.BeFalse(), "the Node stays until a client deletes it")
	g.Expect(l.api().Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-0"}})).To(gomega.Succeed())
	g.Eventually(func() bool { return slices.Contains(l.allPods(), "etcd-cp-0") }).Should(gomega.BeFalse(), "its pods go with the Node")

	replacement := l.machine("again", kubeadm.JoinControlPlane)
	replacement.Node.Name = "cp-0"
	l.mustBoot(replacement)
	g.Expect(ready(l.node("cp-0"))).To(gomega.BeTrue())

	for _, m := range []Machine{second, replacement, worker} {
		g.Expect(l.Wipe(t.Context(), m)).To(gomega.Succeed())
	}
	_, err := net.Dial("tcp", l.sample.Endpoint)
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(IsNotYet(l.PowerOn(t.Context(), worker))).To(gomega.BeTrue(), "the cluster is gone")

	l.mustBoot(first)
	nodes := &corev1.NodeList{}
	g.Expect(l.api().List(t.Context(), nodes)).To(gomega.Succeed())
	g.Expect(nodes.Items).To(gomega.HaveLen(1), "a new cluster at the same endpoint starts empty")
}

func TestRestoredMachinesRebuildTheirCluster(t *testing.T) {
	g, l := gomega.NewWithT(t), newLab(t)
	second, worker := l.machine("cp-1", kubeadm.JoinControlPlane), l.machine("worker-0", kubeadm.JoinWorker)
	second.Restored, worker.Restored = true, true
	g.Expect(IsNotYet(l.Boot(t.Context(), worker))).To(gomega.BeTrue(), "a worker cannot bring a cluster back")
	l.mustBoot(second, worker)

	config := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"}
	g.Expect(l.api().Get(t.Context(), key, config)).To(gomega.Succeed())
	g.Expect(config.Data["ClusterConfiguration"]).To(gomega.ContainSubstring("kubernetesVersion: v1.36.1"))

	newcomer := l.machine("new", kubeadm.JoinWorker)
	newcomer.Node.KubeletVersion = ""
	l.mustBoot(newcomer)
	g.Expect(l.node("new").Status.NodeInfo.KubeletVersion).To(gomega.Equal("v1.36.1"), "as the cluster is configured")
	founder := l.machine("cp-0", kubeadm.Init)
	founder.Restored, founder.Plan.ClusterYAML = true, "clusterName: sample"
	l.mustBoot(founder)
	g.Expect(l.api().Get(t.Context(), key, config)).To(gomega.Succeed())
	g.Expect(config.Data["ClusterConfiguration"]).To(gomega.Equal("clusterName: sample"), "the founder knows better")
	g.Expect(l.etcdLeader("cp-0")).To(gomega.Equal("cp-1"))
}

// etcdLeader asks the etcd member of a node who leads. As through a forwarded
// port, the member is addressed by the name of its pod.
func (l *lab) etcdLeader(node string) string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
	defer cancel()
	pod := etcdPodName(node)
	etcd, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{pod}, TLS: l.sample.Etcd.Client(pod),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return net.Dial("tcp", l.sample.Endpoint)
		})},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	status, err := etcd.Status(ctx, pod)
	if err != nil {
		l.t.Fatal(err)
	}
	members, err := etcd.MemberList(ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, member := range members.Members {
		if member.ID == status.Leader {
			return member.Name
		}
	}
	return ""
}

func (l *lab) allPods() []string {
	l.t.Helper()
	pods := &corev1.PodList{}
	if err := l.api().List(l.t.Context(), pods); err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}
