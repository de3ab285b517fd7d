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

package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestHandedOver(t *testing.T) {
	machine := Owner{Namespace: "a", Name: "m-1", UID: "uid-1"}
	local := Desired(Wanted{Name: "m-1", Owner: machine, ClusterName: "c", Deployment: &Deployment{UserData: "boot"}})
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "uid-x"}
	local.OwnerReferences = append(local.OwnerReferences, other)
	metav1.SetMetaDataAnnotation(&local.ObjectMeta, clusterv1.PausedAnnotation, PauseValue)
	before := local.DeepCopy()

	over := HandedOver(local, machine, "o-1")
	expect.That(t, !OwnedBy(over, machine.UID) && len(over.OwnerReferences) == 1 && over.OwnerReferences[0] == other, "owners are %v", over.OwnerReferences)
	expect.That(t, len(over.Annotations) == 0, "no Cluster unpauses the claim: %v", over.Annotations)
	// What the machine applies from then on changes nothing of this.
	remote := Wanted{
		Name: "m-1", Owner: machine, ClusterName: "c", Deployment: &Deployment{UserData: "boot"},
		Remote: &Remote{Namespace: "a", Origin: "o-1"},
	}
	expect.That(t, UpToDate(over, Desired(remote)), "the claim is not as the machine wants it:\n%s", cmp.Diff(Desired(remote), over))
	expect.Equal(t, before, local) // the claim is not changed in place
}

func TestCopyBase(t *testing.T) {
	remote := RemoteName("m-1", "o-1")
	expect.Equal(t, remote, CopyBase(remote, "m-1", "o-1"))
	expect.Equal(t, remote, CopyBase("m-1", "m-1", "o-1"))
	copies := Copies("boot", "", "", "")
	claim := HandedOver(Desired(Wanted{Name: "m-1", Owner: Owner{Namespace: "a", Name: "m-1", UID: "u"}, Deployment: &Deployment{UserData: "boot"}}),
		Owner{Namespace: "a", Name: "m-1", UID: "u"}, "o-1")
	expect.That(t, !copies[0].NamedBy(claim), "the machine's own secret is taken for the copy")
	claim.Spec.UserData.Name = copies[0].DesiredCopy(claim, secretkeys.Content{}).Name
	expect.That(t, copies[0].NamedBy(claim), "the copy %s is not known again", claim.Spec.UserData.Name)
	claim.Spec.ConsumerRef, claim.Spec.UserData = nil, nil
	expect.That(t, !copies[0].NamedBy(claim), "a claim without user data names a copy of it")
}
