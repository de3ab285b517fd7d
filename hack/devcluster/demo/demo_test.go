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

package demo

import (
	"bytes"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

func newMachine(name string) world.Machine {
	return world.Machine{Machine: &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "t", Name: name, UID: "1"}}}
}

func TestTable(t *testing.T) {
	full := newMachine("m1")
	full.Machine.Spec.ProviderID = "metal3://t/server-1/m1"
	full.Machine.Status.NodeRef.Name = "m1"
	full.Machine.Status.Addresses = []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: "m1"},
		{Type: clusterv1.MachineInternalIP, Address: "192.0.2.1"},
		{Type: clusterv1.MachineExternalIP, Address: "192.0.2.1"},
		{Type: clusterv1.MachineExternalIP, Address: "192.0.2.2"},
	}
	full.Claim = &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}
	full.Host = &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "server-1"}}
	got := table([]row{newRow(full, 12340*time.Millisecond), newRow(newMachine("m2"), 0)})
	want := "" +
		"MACHINE  CLAIM  HOST            NODE  PROVIDER ID             ADDRESSES            READY AFTER\n" +
		"t/m1     c1     infra/server-1  m1    metal3://t/server-1/m1  192.0.2.1,192.0.2.2  12.3s\n" +
		"t/m2     -      -               -     -                       -                    -\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNarratorTellsEachStepOnce(t *testing.T) {
	var out bytes.Buffer
	n := newNarrator(nil, console.New(&out))
	start := time.Unix(0, 0)
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }

	m := newMachine("m")
	n.tell([]world.Machine{m}, at(0))
	n.tell([]world.Machine{m}, at(1))
	m.Claim = &bmov1alpha1.HostClaim{}
	m.Claim.Status.Conditions = []metav1.Condition{{Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionFalse, Message: "none free"}}
	n.tell([]world.Machine{m}, at(2))
	m.Host = &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: "server-1"}}
	n.tell([]world.Machine{m}, at(30))
	provisioned := true
	m.Metal3 = &infrav1.Metal3Machine{}
	m.Metal3.Status.Initialization.Provisioned = &provisioned
	n.tell([]world.Machine{m}, at(33))
	m.Machine.Status.NodeRef.Name = "node"
	n.tell([]world.Machine{m}, at(35))
	if ready, imaged := n.times(m.UID()); ready != 35*time.Second || imaged != 3*time.Second {
		t.Errorf("times() = %s since creation, %s since its turn", ready, imaged)
	}
	n.tell(nil, at(36))
	n.tell(nil, at(37))

	want := `t/m is new
t/m waits for a server: none free
t/m has server-1, its configuration is being rendered
t/m is Node node on server-1
t/m is gone
`
	got := regexp.MustCompile(`(?m)^ *[0-9.]+s  `).ReplaceAllString(out.String(), "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTurnOfAMachineBeginsWithItsUserData(t *testing.T) {
	n := newNarrator(nil, console.New(io.Discard))
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	m := newMachine("worker")
	n.tell([]world.Machine{m}, at(0))
	name, provisioned := "bootstrap", true
	m.Machine.Spec.Bootstrap.DataSecretName = &name
	n.tell([]world.Machine{m}, at(20))
	m.Metal3 = &infrav1.Metal3Machine{}
	m.Metal3.Status.Initialization.Provisioned = &provisioned
	n.tell([]world.Machine{m}, at(22))
	m.Machine.Status.NodeRef.Name = "node"
	n.tell([]world.Machine{m}, at(23))
	if ready, imaged := n.times(m.UID()); ready != 23*time.Second || imaged != 2*time.Second {
		t.Errorf("times() = %s since creation, %s since its turn", ready, imaged)
	}
}
