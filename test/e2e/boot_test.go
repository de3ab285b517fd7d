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
	"os"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
)

// TestServerWithoutAKeyItNeedsDoesNotBoot gives a server user data that asks for
// a key which its metadata does not have. The server is provisioned, since
// baremetal-operator cannot know, and never becomes a Node; hostsim logs why.
func TestServerWithoutAKeyItNeedsDoesNotBoot(t *testing.T) {
	t.Parallel()
	s := newSite(t, "bootless", 1)
	const asks = "## template: jinja\n#cloud-config\nhostname: '{{ ds.meta_data.site }}'\n"
	key := s.machine(t, "m", s.bootstrap(t, "data", asks), s.template(t, "incomplete", infrav1.Metal3DataTemplateSpec{
		MetaData: &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "rack", Value: "r1"}}},
	}))
	provisioned(t, key)
	host := hosts(t, s.pool.Namespace)[0]
	eventually(t, "the log tells about the server", func(g gomega.Gomega) {
		log, err := os.ReadFile(lab.Group.LogFile(components.HostSim))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(strings.Split(string(log), "\n")).To(gomega.ContainElement(gomega.And(
			gomega.ContainSubstring("does not boot"), gomega.ContainSubstring(s.pool.Namespace), gomega.ContainSubstring(host.Name),
			gomega.ContainSubstring(host.Spec.UserData.Name), gomega.ContainSubstring("ds.meta_data.site"))))
	})
	machine := &clusterv1.Machine{}
	must(t, lab.world.Get(t.Context(), key, machine))
	if machine.Status.NodeRef.Name != "" {
		t.Errorf("the machine became Node %s", machine.Status.NodeRef.Name)
	}
	waits(t, key, infrav1.KubernetesNodeReadyCondition, infrav1.WorkloadClusterUnreachableReason, "workload cluster")
}
