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
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/internal/sample"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

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
	if l.Clusters, err = New(testr.New(t), func() { l.wakes <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err := l.Boot(l.t.Context(), m); err != nil {
			l.t.Fatalf("boot %s: %v", m.Node.Name, err)
		}
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
	if err != nil {
		l.t.Fatal(err)
	}
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
	if err := l.api().Create(l.t.Context(), secret); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) node(name string) *corev1.Node {
	l.t.Helper()
	node := &corev1.Node{}
	if err := l.api().Get(l.t.Context(), client.ObjectKey{Name: name}, node); err != nil {
		l.t.Fatal(err)
	}
	return node
}

// pods lists the names of all pods that are ready.
func (l *lab) readyPods() []string {
	l.t.Helper()
	pods := &corev1.PodList{}
	if err := l.api().List(l.t.Context(), pods); err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for _, pod := range pods.Items {
		if len(pod.Status.Conditions) == 1 && pod.Status.Conditions[0].Status == corev1.ConditionTrue {
			names = append(names, pod.Name)
		}
	}
	return names
}
