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
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestWhatTiesTheClaimsOfAMachineComesBack takes owner references and finalizers off the HostClaim and the
// Metal3DataClaim of a machine, writes old API versions into the references, and has the data rendered
// once, whatever happens.
func TestWhatTiesTheClaimsOfAMachineComesBack(t *testing.T) {
	tn := newTenant(t)
	tn.template()
	tn.asks(withTemplate)
	tn.runs(tn)

	for _, o := range []client.Object{&bmov1alpha1.HostClaim{}, &infrav1.Metal3DataClaim{}} {
		tn.G.Expect(tn.Find(machineName, o)).To(gomega.Succeed())
		owners, finalizers := o.GetOwnerReferences(), o.GetFinalizers()
		for what, lose := range map[string]func(){
			"references": func() { o.SetOwnerReferences(nil) },
			"versions": func() {
				old := slices.Clone(owners)
				for i := range old {
					old[i].APIVersion = infrav1.GroupName + "/v1alpha5"
				}
				o.SetOwnerReferences(old)
			},
			"finalizers": func() {
				if _, ours := o.(*infrav1.Metal3DataClaim); ours { // those of a HostClaim are the other manager's
					o.SetFinalizers(nil)
				}
			},
		} {
			tn.Edit(o, lose)
			tn.Await(o, func(g gomega.Gomega) {
				g.Expect(o.GetOwnerReferences()).To(gomega.ConsistOf(owners), what)
				g.Expect(o.GetFinalizers()).To(gomega.ConsistOf(finalizers), what)
			})
		}
	}
	var all infrav1.Metal3DataList
	tn.OK(tn.List(tn.Ctx, &all, client.InNamespace(tn.Namespace)))
	tn.G.Expect(all.Items).To(gomega.HaveLen(1))

	m := tn.provisioned()
	tn.OK(tn.Delete(tn.Ctx, m))
	tn.waits("HostClaimReady", "Deprovisioning")
	dataClaim := &infrav1.Metal3DataClaim{}
	tn.Edit(tn.Named(machineName, dataClaim), func() { dataClaim.OwnerReferences = nil }) // too late to come back
	tn.release()
	tn.gone(machineName, m)
	tn.gone(machineName, dataClaim)
	tn.gone("template-0", &infrav1.Metal3Data{})
}
