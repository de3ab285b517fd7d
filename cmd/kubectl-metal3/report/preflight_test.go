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

package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// ofCAPM3 is a cluster of one machine with its host.
func ofCAPM3() Namespace {
	n := Namespace{
		Clusters:       []clusterv1.Cluster{{ObjectMeta: named("c")}},
		Infrastructure: []infrav1.Metal3Cluster{{ObjectMeta: named("c")}},
		Machines:       []infrav1.Metal3Machine{{ObjectMeta: named("m")}},
		Hosts:          []bmov1alpha1.BareMetalHost{{ObjectMeta: named("h")}},
	}
	n.Clusters[0].Spec.InfrastructureRef.Name = "c"
	m, h := &n.Machines[0], &n.Hosts[0]
	m.UID, m.Labels, m.Annotations = "u", map[string]string{clusterv1.ClusterNameLabel: "c"}, map[string]string{infrav1.HostAnnotation: "blue/h"}
	m.Spec.ProviderID = "metal3://blue/h/m"
	m.Spec.Image = &infrav1.Image{URL: "http://images.example.com/i", Checksum: new("abc")}
	h.Spec.Image, h.Spec.Online = &bmov1alpha1.Image{URL: "http://images.example.com/i", Checksum: "abc"}, true
	h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: "blue", Name: "m"}
	h.Status.Provisioning.State, h.Status.Provisioning.Image, h.Status.PoweredOn = bmov1alpha1.StateProvisioned, *h.Spec.Image, true
	return n
}

// claimed gives the machine a claim with this condition.
func claimed(condition metav1.Condition) func(*Namespace) {
	return func(n *Namespace) {
		claim := bmov1alpha1.HostClaim{ObjectMeta: named("m")}
		claim.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Name: "m", Namespace: "blue", UID: "u"}
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: "m", UID: "u"}}
		claim.Status.Conditions = []metav1.Condition{condition}
		n.Claims = []bmov1alpha1.HostClaim{claim}
	}
}

func TestTakeOvers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Namespace)
		want   Verdict
		reason string
	}{
		"at rest":            {func(*Namespace) {}, TakenOver, ""},
		"of another cluster": {func(n *Namespace) { n.Machines[0].Labels = nil }, "", ""},
		"with a claim":       {claimed(is("Associated")), Claimed, ""},
		"with a claim that is refused": {
			claimed(not("Associated", "TakeOverRefused", "the host is paused")), Refused, "the host is paused",
		},
		"that lost its host":           {func(n *Namespace) { n.Machines[0].Annotations = nil }, Refused, "names no host"},
		"whose host has no image":      {func(n *Namespace) { n.Hosts[0].Spec.Image = nil }, Refused, "before it wrote an image"},
		"with an image of no protocol": {func(n *Namespace) { n.Machines[0].Spec.Image.URL = "file:///i" }, Refused, "scheme"},
		"without a host": {func(n *Namespace) {
			n.Machines[0].Spec.ProviderID, n.Machines[0].Annotations, n.Hosts[0].Spec.ConsumerRef = "", nil, nil
		}, NewHost, ""},
		"being bound": {func(n *Namespace) { n.Machines[0].Spec.ProviderID, n.Machines[0].Annotations = "", nil }, Refused, "wait until CAPM3 has written"},
		"being provisioned": {
			func(n *Namespace) { n.Hosts[0].Status.Provisioning.State = bmov1alpha1.StateProvisioning }, Refused, "wait until it is at rest",
		},
		"being deleted": {func(n *Namespace) { n.Machines[0].DeletionTimestamp = new(at(1)) }, Refused, "wait until it is gone"},
		"being remediated": {func(n *Namespace) {
			owner := []metav1.OwnerReference{{Kind: "Machine", Name: "m", UID: "of-m"}}
			n.Machines[0].OwnerReferences = owner
			n.Remediations = []infrav1.Metal3Remediation{{ObjectMeta: metav1.ObjectMeta{Name: "m", OwnerReferences: owner}}}
		}, Refused, "Metal3Remediation"},
		"beside one that is remediated": {func(n *Namespace) {
			n.Machines[0].OwnerReferences = []metav1.OwnerReference{{Kind: "Machine", Name: "m", UID: "of-m"}}
			n.Remediations = []infrav1.Metal3Remediation{{ObjectMeta: metav1.ObjectMeta{
				Name: "n", OwnerReferences: []metav1.OwnerReference{{Kind: "Machine", Name: "n", UID: "of-n"}},
			}}}
		}, TakenOver, ""},
		"with an identityRef of the cluster": {
			func(n *Namespace) { n.Infrastructure[0].Spec.IdentityRef = &infrav1.IdentityReference{Name: "i"} }, Refused, "identityRef",
		},
		"whose host is gone": {func(n *Namespace) { n.Hosts = nil }, Refused, `"blue/h"`},
		"whose host is elsewhere": {
			func(n *Namespace) { n.Machines[0].Annotations[infrav1.HostAnnotation] = "red/h" }, Refused, `"red/h"`,
		},
		"whose host is paused": {
			func(n *Namespace) {
				n.Hosts[0].Annotations = map[string]string{bmov1alpha1.PausedAnnotation: "metal3.io/capm3"}
			}, Refused, "remove annotation baremetalhost.metal3.io/paused",
		},
		"whose host runs something else": {func(n *Namespace) { n.Machines[0].Spec.Image.URL += "i" }, Refused, "run something else"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := ofCAPM3()
			test.change(&n)
			rows := n.TakeOvers()
			if test.want == "" {
				expect.Equal(t, []TakeOver{}, rows)
				return
			}
			expect.Must(t, len(rows) == 1, "%v", rows)
			expect.Equal(t, test.want, rows[0].Verdict)
			expect.That(t, strings.Contains(rows[0].Reason, test.reason) && (rows[0].Reason == "") == (test.reason == ""), "reason %q", rows[0].Reason)
		})
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	n := ofCAPM3()
	expect.Equal(t, []Difference{}, n.Differences())
	n.Infrastructure[0].Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "r1"}}
	template := infrav1.Metal3MachineTemplate{ObjectMeta: named("plain")}
	full := infrav1.Metal3MachineTemplate{ObjectMeta: named("full")}
	spec := &full.Spec.Template.Spec
	spec.FailureDomain, spec.AutomatedCleaningMode = "r1", infrav1.CleaningModeDisabled
	spec.MetaData, spec.NetworkData = &corev1.SecretReference{Name: "s"}, &corev1.SecretReference{Name: "s"}
	spec.HostSelector = &infrav1.HostSelector{MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "k", Operator: "gt", Values: []string{"1"}}}}
	n.Templates = []infrav1.Metal3MachineTemplate{template, full}
	data := infrav1.Metal3DataTemplate{ObjectMeta: named("data")}
	data.Spec.MetaData = &infrav1.MetaData{
		DNSServersFromPool:  []infrav1.FromPool{{Key: "dns", Name: "p"}},
		IPAddressesFromPool: []infrav1.FromPool{{Key: "ip", Name: "p", Kind: "InClusterIPPool"}},
	}
	n.DataTemplates = []infrav1.Metal3DataTemplate{data, {ObjectMeta: named("other")}}
	var got []string
	for _, d := range n.Differences() {
		got = append(got, d.Kind+" "+d.Name+" "+d.Field)
		expect.That(t, d.Namespace == "blue" && d.Here != "", "%v", d)
	}
	if diff := cmp.Diff([]string{
		"Metal3Cluster c spec.failureDomains",
		"Metal3MachineTemplate plain spec.template.spec",
		"Metal3MachineTemplate full spec.template.spec",
		"Metal3MachineTemplate full spec.template.spec.failureDomain",
		"Metal3MachineTemplate full spec.template.spec.automatedCleaningMode",
		"Metal3MachineTemplate full spec.template.spec.metaData",
		"Metal3MachineTemplate full spec.template.spec.networkData",
		"Metal3MachineTemplate full spec.template.spec.hostSelector",
		"Metal3DataTemplate data spec.metaData.dnsServersFromPool",
		"Metal3DataTemplate data spec.metaData",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
