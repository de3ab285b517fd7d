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

package machine

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	wantedLabel  = "rack.example/row"
	anotherLabel = "rack.example/unit"
	hiddenLabel  = "power.example/feed"
)

// TestNodeLabels shows labels of a server on its Node.
func TestNodeLabels(t *testing.T) { hereAndThere(t, (*tenant).labelsFollow) }

// labelsFollow plays the owner of the servers, that of the Cluster, and a person who edits
// the Node.
func (tn *tenant) labelsFollow(holder *tenant, change ...func(*infrav1.Metal3Machine)) {
	tn.infrastructure(withEndpoint)
	tn.ready(metav1.ConditionTrue, "Ready")
	tn.joined(holder, change...)
	m, node := &infrav1.Metal3Machine{}, &corev1.Node{}
	tn.OK(tn.Find(machineName, m))
	tn.G.Expect(harness.Condition(m.Status.Conditions, infrav1.NodeLabelsSynchronizedCondition)).To(gomega.Equal("none"))

	tn.prefixes("rack.example")
	tn.labels("False/LabelsNotPublished")
	tn.OK(tn.Find(machineName, m))
	tn.G.Expect(harness.Message(m.Status.Conditions, infrav1.NodeLabelsSynchronizedCondition)).To(gomega.And(
		gomega.ContainSubstring("rack.example"), gomega.ContainSubstring(infrav1.PublishLabelsAnnotation)))
	tn.G.Expect(harness.Condition(m.Status.Conditions, "Ready")).To(gomega.HavePrefix("True"))

	holder.publish(map[string]string{wantedLabel: "7", anotherLabel: "2", hiddenLabel: "a"})
	node.Name = "joined-" + tn.Namespace
	shows := func(row, unit string) {
		tn.T.Helper()
		tn.Await(node, func(g gomega.Gomega) {
			g.Expect(node.Labels).To(gomega.HaveKeyWithValue(wantedLabel, row))
			if unit == "" {
				g.Expect(node.Labels).NotTo(gomega.HaveKey(anotherLabel))
			} else {
				g.Expect(node.Labels).To(gomega.HaveKeyWithValue(anotherLabel, unit))
			}
			g.Expect(node.Labels).NotTo(gomega.HaveKey(hiddenLabel))
		})
	}
	shows("7", "2")
	tn.labels("True/NodeLabelsSynchronized")

	holder.publish(map[string]string{wantedLabel: "8", hiddenLabel: "a"})
	shows("8", "")

	tn.Edit(node, func() {
		node.Labels[wantedLabel], node.Labels[anotherLabel], node.Labels["own.example/x"] = "forged", "forged", "stays"
	})
	shows("8", "")
	tn.G.Expect(node.Labels).To(gomega.HaveKeyWithValue("own.example/x", "stays"))

	tn.prefixes("node-role.kubernetes.io")
	tn.labels("False/InvalidConfiguration")
	holder.publish(map[string]string{"node-role.kubernetes.io/control-plane": ""})
	tn.prefixes("rack.example,power.example")
	tn.labels("False/LabelsNotPublished")
	tn.Await(node, func(g gomega.Gomega) { g.Expect(node.Labels).NotTo(gomega.HaveKey(wantedLabel)) })
	tn.G.Expect(node.Labels).NotTo(gomega.HaveKey("node-role.kubernetes.io/control-plane"))
}

// prefixes lists which labels the owner of the Cluster wants on Nodes.
func (tn *tenant) prefixes(list string) {
	c := &infrav1.Metal3Cluster{}
	tn.Edit(tn.Named(clusterName, c), func() {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.LabelSyncPrefixesAnnotation, list)
	})
}

// publish plays the hostclaim manager: these labels of the host are shown, and no others.
func (tn *tenant) publish(labels map[string]string) {
	data := &bmov1alpha1.HardwareData{}
	tn.Edit(tn.Named(tn.claim+infrav1.HardwareDataSuffix, data), func() {
		labels[infrav1.ClaimUIDLabel] = data.Labels[infrav1.ClaimUIDLabel]
		data.Labels = labels
	})
}

// labels expects what the machine reports about the labels of its Node.
func (tn *tenant) labels(want string) {
	tn.T.Helper()
	m := &infrav1.Metal3Machine{}
	tn.shows(machineName, m, infrav1.NodeLabelsSynchronizedCondition, want)
}
