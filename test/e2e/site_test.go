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

package e2e

import (
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
)

// userData is enough for a server to be provisioned. It makes no Node.
const userData = "#cloud-config\n{}\n"

// site is a tenant with servers that no other tenant may have, and a Cluster for
// machines that are made one by one.
type site struct {
	*story.Tenant

	pool story.Pool
}

// newSite registers servers and lets one tenant in.
func newSite(t *testing.T, name string, servers int) *site {
	t.Helper()
	s := &site{pool: story.Pool{Namespace: name + "-infra", Servers: servers, Tenants: []string{name}}}
	must(t, s.pool.Register(t.Context(), lab.admin))
	must(t, s.pool.WaitAvailable(limited(t), lab.world, ignoreNotes))
	s.Tenant = newTenant(t, name)
	ports, err := cluster.FreePorts(1)
	must(t, err)
	s.cluster(t, ports[0])
	return s
}

// cluster creates the Cluster c, whose API server is at a port of this machine.
func (s *site) cluster(t *testing.T, port int) {
	t.Helper()
	s.create(t, &infrav1.Metal3Cluster{
		ObjectMeta: s.meta("c"),
		Spec: infrav1.Metal3ClusterSpec{
			ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "127.0.0.1", Port: int32(port)},
		},
	})
	s.create(t, &clusterv1.Cluster{
		ObjectMeta: s.meta("c"),
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupName, Kind: "Metal3Cluster", Name: "c",
		}},
	})
}

// machine creates a Machine with its Metal3Machine, both of that name, and with
// the secret bootstrap as its user data.
func (s *site) machine(t *testing.T, name, bootstrap string, change ...func(*infrav1.Metal3Machine)) client.ObjectKey {
	t.Helper()
	metal3 := &infrav1.Metal3Machine{
		ObjectMeta: s.meta(name),
		Spec: infrav1.Metal3MachineSpec{Image: &infrav1.Image{
			URL: "http://images.example.com/node-v1.36.1.qcow2", Checksum: ptr.To("0123456789abcdef"), ChecksumType: "sha256", DiskFormat: "qcow2",
		}},
	}
	for _, f := range change {
		f(metal3)
	}
	s.create(t, metal3)
	s.create(t, &clusterv1.Machine{
		ObjectMeta: s.meta(name),
		Spec: clusterv1.MachineSpec{
			ClusterName: "c",
			Bootstrap:   clusterv1.Bootstrap{DataSecretName: ptr.To(bootstrap)},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupName, Kind: "Metal3Machine", Name: name,
			},
		},
	})
	return client.ObjectKey{Namespace: s.Namespace, Name: name}
}

// template creates a Metal3DataTemplate and returns the change that makes a
// machine use it.
func (s *site) template(t *testing.T, name string, spec infrav1.Metal3DataTemplateSpec) func(*infrav1.Metal3Machine) {
	t.Helper()
	s.create(t, &infrav1.Metal3DataTemplate{ObjectMeta: s.meta(name), Spec: spec})
	return func(m *infrav1.Metal3Machine) {
		m.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: name}
	}
}

// bootstrap creates a secret with user data and returns its name.
func (s *site) bootstrap(t *testing.T, name, content string) string {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: s.meta(name), Type: clusterv1.ClusterSecretType, StringData: map[string]string{"value": content}}
	secret.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
	s.create(t, secret)
	return name
}

// create writes an object as the tenant.
func (s *site) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := s.Client.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

func (s *site) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
}

// mirrored expects the Machine to show what its Metal3Machine waits for, and why.
func (s *site) mirrored(t *testing.T, key client.ObjectKey, reason string, parts ...string) {
	t.Helper()
	eventually(t, key.String()+" shows it on the Machine", func(g gomega.Gomega) {
		machine := &clusterv1.Machine{}
		g.Expect(lab.world.Get(t.Context(), key, machine)).To(gomega.Succeed())
		says(g, machine.Status.Conditions, metav1.Condition{
			Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionFalse, Reason: reason,
		}, parts...)
	})
}
