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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/internal/sample"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

func TestMachinesFormACluster(t *testing.T) {
	l := newLab(t)
	first := l.machine("cp-0", kubeadm.Init)
	first.Node.Addresses = []string{"10.0.0.1"}
	l.mustBoot(first)
	l.addToken(nil)
	l.mustBoot(l.machine("cp-1", kubeadm.JoinControlPlane), l.machine("worker-0", kubeadm.JoinWorker))

	node := l.node("cp-0")
	want := &corev1.Node{Spec: corev1.NodeSpec{
		ProviderID: "metal3://cp-0",
		Taints:     []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}},
	}}
	if diff := cmp.Diff(want.Spec, node.Spec); diff != "" {
		t.Error(diff)
	}
	wantLabels := map[string]string{
		"a": "b", corev1.LabelHostname: "cp-0", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		controlPlaneRole: "", corev1.LabelNodeExcludeBalancers: "",
	}
	if diff := cmp.Diff(wantLabels, node.Labels); diff != "" {
		t.Error(diff)
	}
	wantAddresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: "cp-0"}}
	if diff := cmp.Diff(wantAddresses, node.Status.Addresses); diff != "" || !ready(node) || node.UID == "" {
		t.Error(diff, node.Status.Conditions, node.UID)
	}
	if worker := l.node("worker-0"); len(worker.Spec.Taints) > 0 || !ready(worker) {
		t.Error(worker.Spec, worker.Status.Conditions)
	}
	wantPods := []string{
		"etcd-cp-0", "kube-apiserver-cp-0", "kube-controller-manager-cp-0", "kube-scheduler-cp-0",
		"etcd-cp-1", "kube-apiserver-cp-1", "kube-controller-manager-cp-1", "kube-scheduler-cp-1",
	}
	if diff := cmp.Diff(wantPods, l.readyPods(), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Error(diff)
	}
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
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want one with %q", err, tc.want)
			}
			if IsNotYet(err) != tc.wantYet {
				t.Errorf("IsNotYet() = %v, want %v", IsNotYet(err), tc.wantYet)
			}
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
