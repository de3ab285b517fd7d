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
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/internal/sample"
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

// Health checks of Machines and tests write conditions of Nodes.
func TestStatusOfANode(t *testing.T) {
	g, l := gomega.NewWithT(t), newLab(t)
	l.mustBoot(l.machine("cp-0", kubeadm.Init))
	node := l.node("cp-0")
	before := node.DeepCopy()
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: "Tired", Status: corev1.ConditionTrue})
	g.Expect(l.api().Status().Patch(t.Context(), node, client.MergeFrom(before))).To(gomega.Succeed())
	g.Expect(l.node("cp-0").Status.Conditions).To(gomega.HaveLen(len(before.Status.Conditions) + 1))
	g.Expect(ready(l.node("cp-0"))).To(gomega.BeTrue())
}

// What a Deployment runs can be evicted, as far as a budget lets it.
func TestEvictionOfPods(t *testing.T) {
	g, l := gomega.NewWithT(t), newLab(t)
	threeMachines(l)
	app := metav1.ObjectMeta{Namespace: "apps", Name: "app", Labels: map[string]string{"app": "app"}}
	selector := &metav1.LabelSelector{MatchLabels: app.Labels}
	deployment := &appsv1.Deployment{ObjectMeta: app, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2), Selector: selector,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: app.Labels, Finalizers: []string{"example.com/hold"}},
			Spec:       corev1.PodSpec{NodeSelector: map[string]string{"zone": "one"}},
		},
	}}
	g.Expect(l.api().Create(t.Context(), deployment)).To(gomega.Succeed())
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: app, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: selector, MaxUnavailable: ptr.To(intstr.FromInt32(0)),
	}}
	g.Expect(l.api().Create(t.Context(), budget)).To(gomega.Succeed())

	for _, name := range []string{"cp-1", "worker-0"} {
		node := l.node(name)
		before := node.DeepCopy()
		node.Labels["zone"] = "one"
		g.Expect(l.api().Patch(t.Context(), node, client.MergeFrom(before))).To(gomega.Succeed())
	}
	g.Eventually(func(g gomega.Gomega) {
		g.Expect(l.api().Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment)).To(gomega.Succeed())
		g.Expect(deployment.Status.Conditions).To(gomega.ConsistOf(appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}))
	}).Should(gomega.Succeed())
	pods := &corev1.PodList{}
	g.Expect(l.api().List(t.Context(), pods, client.InNamespace("apps"), client.MatchingFields{"spec.nodeName": "worker-0"})).To(gomega.Succeed())
	g.Expect(pods.Items).To(gomega.HaveLen(1))
	pod, node := &pods.Items[0], l.node("worker-0")
	cordoned := node.DeepCopy()
	node.Spec.Unschedulable = true
	g.Expect(l.api().Patch(t.Context(), node, client.MergeFrom(cordoned))).To(gomega.Succeed())

	err := l.api().SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{})
	g.Expect(apierrors.IsTooManyRequests(err)).To(gomega.BeTrue(), "%v", err)
	g.Expect(apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)).To(gomega.BeTrue())
	g.Expect(l.api().Delete(t.Context(), budget)).To(gomega.Succeed())
	g.Expect(l.api().SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{})).To(gomega.Succeed())
	g.Expect(l.api().Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(gomega.Succeed())
	g.Expect(pod.DeletionTimestamp.IsZero()).To(gomega.BeFalse(), "its finalizer holds it")
	g.Expect(pod.Status.Phase).To(gomega.Equal(corev1.PodSucceeded))

	before := pod.DeepCopy()
	pod.Finalizers = nil
	g.Expect(l.api().Patch(t.Context(), pod, client.MergeFrom(before))).To(gomega.Succeed())
	g.Expect(apierrors.IsNotFound(l.api().Get(t.Context(), client.ObjectKeyFromObject(pod), pod))).To(gomega.BeTrue(), "nothing holds it any more")

	g.Expect(l.api().Delete(t.Context(), deployment)).To(gomega.Succeed())
	g.Eventually(func(g gomega.Gomega) {
		g.Expect(l.api().List(t.Context(), pods, client.InNamespace("apps"))).To(gomega.Succeed())
		g.Expect(pods.Items).To(gomega.HaveEach(gomega.HaveField("DeletionTimestamp", gomega.Not(gomega.BeNil()))))
	}).Should(gomega.Succeed())
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
	expect.NoError(l.t, err)
	defer func() { _ = etcd.Close() }()
	status, err := etcd.Status(ctx, pod)
	expect.NoError(l.t, err)
	members, err := etcd.MemberList(ctx)
	expect.NoError(l.t, err)
	for _, member := range members.Members {
		if member.ID == status.Leader {
			return member.Name
		}
	}
	return ""
}

func (l *lab) allPods() []string {
	l.t.Helper()
	return l.pods(func(corev1.Pod) bool { return true })
}

// pods returns the names of all pods that a condition holds for.
func (l *lab) pods(wanted func(corev1.Pod) bool) (names []string) {
	l.t.Helper()
	pods := &corev1.PodList{}
	expect.NoError(l.t, l.api().List(l.t.Context(), pods))
	for _, pod := range pods.Items {
		if wanted(pod) {
			names = append(names, pod.Name)
		}
	}
	return names
}

func TestMachinesFormACluster(t *testing.T) {
	l := newLab(t)
	first := l.machine("cp-0", kubeadm.Init)
	first.Node.Addresses = []string{"10.0.0.1"}
	l.mustBoot(first)
	l.addToken(nil)
	l.mustBoot(l.machine("cp-1", kubeadm.JoinControlPlane), l.machine("worker-0", kubeadm.JoinWorker))

	node := l.node("cp-0")
	want := corev1.NodeSpec{ProviderID: "metal3://cp-0", Taints: []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}}}
	expect.Equal(t, want, node.Spec)
	wantLabels := map[string]string{
		"a": "b", corev1.LabelHostname: "cp-0", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		controlPlaneRole: "", corev1.LabelNodeExcludeBalancers: "",
	}
	expect.Equal(t, wantLabels, node.Labels)
	wantAddresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: "cp-0"}}
	expect.Equal(t, wantAddresses, node.Status.Addresses)
	worker := l.node("worker-0")
	expect.Equal(t, []bool{true, true, true}, []bool{node.UID != "", ready(node), ready(worker)})
	expect.Equal(t, nil, worker.Spec.Taints)
	wantPods := []string{
		"etcd-cp-0", "kube-apiserver-cp-0", "kube-controller-manager-cp-0", "kube-scheduler-cp-0",
		"etcd-cp-1", "kube-apiserver-cp-1", "kube-controller-manager-cp-1", "kube-scheduler-cp-1",
	}
	expect.Equal(t, wantPods, l.readyPods(), cmpopts.SortSlices(strings.Compare))
}

func TestBootRefuses(t *testing.T) {
	tests := map[string]struct {
		role    kubeadm.Role
		token   func(map[string][]byte)
		change  func(*Machine)
		want    string
		wantYet bool
	}{
		"a worker whose cluster does not answer": {
			role:   kubeadm.JoinWorker,
			change: func(m *Machine) { m.Plan.Endpoint = "127.0.0.1:1" },
			want:   "nothing answers at 127.0.0.1:1", wantYet: true,
		},
		"a token that the cluster does not know yet": {
			role:   kubeadm.JoinWorker,
			change: func(m *Machine) { m.Plan.Token.Token = "zzzzzz.0123456789abcdef" },
			want:   `has no bootstrap token "zzzzzz"`, wantYet: true,
		},
		"a token of no form": {
			role:   kubeadm.JoinWorker,
			change: func(m *Machine) { m.Plan.Token.Token = "short" },
			want:   `"short" is not of the form id.secret`,
		},
		"a wrong token": {
			role:   kubeadm.JoinControlPlane,
			change: func(m *Machine) { m.Plan.Token.Token = sample.TokenID + ".wrong" },
			want:   "is not the one that the cluster knows",
		},
		"an expired token": {
			role:  kubeadm.JoinWorker,
			token: func(data map[string][]byte) { data["expiration"] = []byte("2020-01-01T00:00:00Z") },
			want:  `"abcdef" expired at 2020-01-01T00:00:00Z`,
		},
		"a token with an unreadable expiration": {
			role:  kubeadm.JoinWorker,
			token: func(data map[string][]byte) { data["expiration"] = []byte("soon") },
			want:  "unreadable expiration",
		},
		"a token for other purposes": {
			role:  kubeadm.JoinWorker,
			token: func(data map[string][]byte) { delete(data, "usage-bootstrap-authentication") },
			want:  "not meant for authentication",
		},
		"a machine that trusts another authority": {
			role:   kubeadm.JoinWorker,
			change: func(m *Machine) { m.Plan.Token.CACertHashes = []string{"sha256:00"} },
			want:   "not one of the pinned caCertHashes",
		},
		"a control plane with another authority": {
			role:   kubeadm.JoinControlPlane,
			change: func(m *Machine) { m.Plan.PKI.Cluster.Certificate = m.Plan.PKI.Etcd.Certificate },
			want:   "another authority than ca.crt",
		},
		"a control plane with another etcd authority": {
			role:   kubeadm.JoinControlPlane,
			change: func(m *Machine) { m.Plan.PKI.Etcd.Certificate = m.Plan.PKI.Cluster.Certificate },
			want:   "another etcd authority than etcd/ca.crt",
		},
		"a founder where another cluster lives": {
			role:   kubeadm.Init,
			change: func(m *Machine) { m.Plan.PKI.Cluster.Certificate = m.Plan.PKI.Etcd.Certificate },
			want:   "another authority than ca.crt",
		},
		"a founder whose endpoint is no address of this computer": {
			role:   kubeadm.Init,
			change: func(m *Machine) { m.Plan.Endpoint = "192.0.2.1:6443" },
			want:   "control plane endpoint: listen tcp 192.0.2.1:6443",
		},
		"a founder without port in its endpoint": {
			role:   kubeadm.Init,
			change: func(m *Machine) { m.Plan.Endpoint = "127.0.0.1" },
			want:   `"127.0.0.1" is not host:port`,
		},
		"a second machine under a name in use": {
			role:   kubeadm.JoinWorker,
			change: func(m *Machine) { m.Node.Name = "cp-0" },
			want:   `a Node named "cp-0" is already in the cluster`,
		},
		"labels that are none": {
			role:   kubeadm.JoinWorker,
			change: func(m *Machine) { m.Plan.Registration.KubeletExtraArgs[1].Value = "x" },
			want:   "not key=value",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.mustBoot(l.machine("cp-0", kubeadm.Init))
			l.addToken(tc.token)
			m := l.machine("new", tc.role)
			if tc.change != nil {
				tc.change(&m)
			}
			err := l.Boot(t.Context(), m)
			expect.Error(t, tc.want, err)
			expect.Equal(t, tc.wantYet, IsNotYet(err))
		})
	}
}

func TestWaitingMachinesAreWoken(t *testing.T) {
	l := newLab(t)
	l.mustBoot(l.machine("cp-0", kubeadm.Init))
	l.wait("the API server listens")
	l.addToken(nil)
	l.wait("a token is written")
}

func (l *lab) wait(when string) {
	l.t.Helper()
	select {
	case <-l.wakes:
	case <-time.After(10 * time.Second):
		l.t.Fatalf("no host is woken when %s", when)
	}
}

// lab is one set of clusters and the blueprint of one cluster in it.
type lab struct {
	*Clusters
	t      *testing.T
	wakes  chan struct{}
	sample sample.Cluster
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, wakes: make(chan struct{}, 100), sample: sample.NewCluster(freeEndpoint(t))}
	var err error
	l.Clusters, err = New(testr.New(t), func() { l.wakes <- struct{}{} })
	expect.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l
}

// freeEndpoint is a loopback address that no process listens on at the moment.
func freeEndpoint(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// machine is one whose kubeadm plays a role in the lab's cluster.
func (l *lab) machine(name string, role kubeadm.Role) Machine {
	m := Machine{Key: name, Node: NodeFacts{Name: name, KubeletVersion: "v1.36.1", Architecture: "amd64", Capacity: Capacity(4, 8192)}}
	m.Plan = kubeadm.Plan{Role: role, Endpoint: l.sample.Endpoint}
	m.Plan.Registration.KubeletExtraArgs = kubeadm.Args{{Name: "provider-id", Value: "metal3://" + name}, {Name: "node-labels", Value: "a=b"}}
	if role != kubeadm.JoinWorker {
		m.Plan.PKI = kubeadm.PKI{
			Cluster: kubeadm.Authority{Certificate: l.sample.CA.Certificate, Key: l.sample.CA.Key},
			Etcd:    kubeadm.Authority{Certificate: l.sample.Etcd.Certificate, Key: l.sample.Etcd.Key},
		}
	}
	if role != kubeadm.Init {
		m.Plan.Token = &kubeadm.BootstrapToken{Token: sample.Token, APIServerEndpoint: l.sample.Endpoint, CACertHashes: []string{l.sample.CA.Pin()}}
	}
	return m
}

// mustBoot boots machines that have to get into their cluster.
func (l *lab) mustBoot(machines ...Machine) {
	l.t.Helper()
	for _, m := range machines {
		expect.NoError(l.t, l.Boot(l.t.Context(), m))
	}
}

// api is a client of the cluster's API server, over the network, with a client
// certificate of the cluster's authority.
func (l *lab) api() client.Client {
	l.t.Helper()
	config := &rest.Config{Host: "https://" + l.sample.Endpoint}
	httpClient := &http.Client{
		Transport: &http.Transport{TLSClientConfig: l.sample.CA.Client(""), DisableKeepAlives: true},
		Timeout:   10 * time.Second,
	}
	c, err := client.New(config, client.Options{HTTPClient: httpClient})
	expect.NoError(l.t, err)
	return c
}

// addToken creates the sample token with changes, as a bootstrap provider would.
func (l *lab) addToken(change func(map[string][]byte)) {
	l.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: tokenPrefix + sample.TokenID},
		Type:       corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			"token-id": []byte(sample.TokenID), "token-secret": []byte(sample.TokenSecret),
			"usage-bootstrap-authentication": []byte("true"),
			"expiration":                     []byte(time.Now().Add(time.Hour).Format(time.RFC3339)),
		},
	}
	if change != nil {
		change(secret.Data)
	}
	expect.NoError(l.t, l.api().Create(l.t.Context(), secret))
}

func (l *lab) node(name string) *corev1.Node {
	l.t.Helper()
	node := &corev1.Node{}
	expect.NoError(l.t, l.api().Get(l.t.Context(), client.ObjectKey{Name: name}, node))
	return node
}

// readyPods returns the names of all pods that are ready.
func (l *lab) readyPods() []string {
	l.t.Helper()
	return l.pods(func(pod corev1.Pod) bool {
		return len(pod.Status.Conditions) == 1 && pod.Status.Conditions[0].Status == corev1.ConditionTrue
	})
}
