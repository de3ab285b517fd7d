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

package kubevirt

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	virtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/virtualmachine"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// lifeStory is a claim with a virtual machine.
type lifeStory struct {
	harness.Story
	admin client.Client
	claim *bmov1alpha1.HostClaim
}

func newLifeStory(t *testing.T) *lifeStory {
	t.Helper()
	s := &lifeStory{Story: server.NewStory(t), admin: install(t)}
	mgr, err := newManager(t.Context(), t, server.Config)
	expect.NoError(t, err)
	run(t, mgr)
	namespace := server.Namespace(t, "life", nil)
	s.MakeSecret(namespace, "boot", "value", "#cloud-config")
	s.Make(&hostclaimv1.HostClaimClass{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: hostclaimv1.HostClaimClassSpec{
			ControllerName: virtualmachine.Controller().Name, Parameters: &runtime.RawExtension{Raw: []byte(parameters)},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		},
	})
	s.claim = &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "machine", Labels: map[string]string{infrav1.ClassLabel: namespace}},
		Spec: bmov1alpha1.HostClaimSpec{
			PoweredOn: true, Image: &bmov1alpha1.Image{URL: "https://images.example.com/first.raw"}, UserData: &corev1.SecretReference{Name: "boot"},
		},
	}
	s.Make(s.claim)
	s.says(infrav1.ReadyCondition, metav1.ConditionTrue, "WithImage")
	return s
}

// says waits until a condition is so.
func (s *lifeStory) says(kind string, status metav1.ConditionStatus, reason string) {
	s.Await(s.claim, func(g gomega.Gomega) {
		condition := meta.FindStatusCondition(s.claim.Status.Conditions, kind)
		g.Expect(condition).NotTo(gomega.BeNil())
		g.Expect([]any{condition.Status, condition.Reason, condition.ObservedGeneration}).
			To(gomega.Equal([]any{status, reason, s.claim.Generation}), condition.Message)
	})
}

func (s *lifeStory) machine(t *testing.T) *virtv1.VirtualMachine {
	t.Helper()
	vm := &virtv1.VirtualMachine{}
	expect.NoError(t, s.admin.Get(t.Context(), client.ObjectKey{Namespace: s.claim.Namespace, Name: virtualmachine.Name(s.claim)}, vm))
	return vm
}

// TestMissingMachine deletes the virtual machine by hand: its data is gone, and the claim says so instead of getting another.
func TestMissingMachine(t *testing.T) {
	s := newLifeStory(t)
	expect.NoError(t, s.admin.Delete(t.Context(), s.machine(t)))
	s.says(bmov1alpha1.AssociatedCondition, metav1.ConditionFalse, bmov1alpha1.MissingBareMetalHostReason)
	s.says(infrav1.ReadyCondition, metav1.ConditionFalse, bmov1alpha1.MissingBareMetalHostReason)
	expect.That(t, !s.claim.Status.PoweredOn, "a machine that is gone is on")
}

// TestRebuildThatCannotBe names a Secret that does not exist: the machine runs on until all is there.
func TestRebuildThatCannotBe(t *testing.T) {
	s := newLifeStory(t)
	disk := virtualmachine.Disk(s.machine(t))
	s.Edit(s.claim, func() {
		s.claim.Spec.UserData.Name = "missing"
		metav1.SetMetaDataAnnotation(&s.claim.ObjectMeta, infrav1.RebuildAnnotation, "again")
	})
	s.says(bmov1alpha1.SynchronizedCondition, metav1.ConditionFalse, bmov1alpha1.BadUserDataSecretReason)
	s.says(bmov1alpha1.ProvisionedCondition, metav1.ConditionFalse, infrav1.RebuildingReason)
	vm := s.machine(t)
	expect.Equal(t, virtv1.RunStrategyAlways, *vm.Spec.RunStrategy)
	expect.Equal(t, disk, virtualmachine.Disk(vm))
	s.MakeSecret(s.claim.Namespace, "missing", "value", "#cloud-config")
	s.says(infrav1.ReadyCondition, metav1.ConditionTrue, "WithImage")
	expect.That(t, disk != virtualmachine.Disk(s.machine(t)), "the machine runs from the disk that it had")
	secrets := &corev1.SecretList{}
	expect.NoError(t, s.admin.List(t.Context(), secrets, client.InNamespace(s.claim.Namespace), client.HasLabels{virtualmachine.ClaimLabel}))
	expect.Equal(t, 1, len(secrets.Items))
}

// TestRebuildWhileOff rebuilds as a Metal3Machine does: switched off first, and on with other data under the same text.
func TestRebuildWhileOff(t *testing.T) {
	s := newLifeStory(t)
	s.Edit(s.claim, func() {
		s.claim.Spec.PoweredOn = false
		metav1.SetMetaDataAnnotation(&s.claim.ObjectMeta, infrav1.RebuildAnnotation, "again")
	})
	s.says(bmov1alpha1.AvailableForProvisioningCondition, metav1.ConditionTrue, "WithoutImage")
	s.says(bmov1alpha1.SynchronizedCondition, metav1.ConditionTrue, bmov1alpha1.ConfigurationSyncedReason)
	s.MakeSecret(s.claim.Namespace, "next", "value", "#cloud-config of the next life")
	s.Edit(s.claim, func() { s.claim.Spec.PoweredOn, s.claim.Spec.UserData.Name = true, "next" })
	s.says(infrav1.ReadyCondition, metav1.ConditionTrue, "WithImage")
	boot := &corev1.Secret{}
	expect.NoError(t, s.admin.Get(t.Context(), client.ObjectKey{Namespace: s.claim.Namespace, Name: virtualmachine.Disk(s.machine(t))}, boot))
	expect.Equal(t, "#cloud-config of the next life", string(boot.Data["user-data"]))
}

// TestHeldOff holds a machine off by an annotation, as a remediation does.
func TestHeldOff(t *testing.T) {
	const hold = bmov1alpha1.RebootAnnotationPrefix + "/remediation"
	s := newLifeStory(t)
	powered := func(on bool) {
		s.Await(s.claim, func(g gomega.Gomega) { g.Expect(s.claim.Status.PoweredOn).To(gomega.Equal(on)) })
	}
	s.Edit(s.claim, func() { metav1.SetMetaDataAnnotation(&s.claim.ObjectMeta, hold, "") })
	powered(false)
	s.says(bmov1alpha1.ProvisionedCondition, metav1.ConditionTrue, "WithImage")
	s.Edit(s.claim, func() { delete(s.claim.Annotations, hold) })
	powered(true)
	s.says(infrav1.ReadyCondition, metav1.ConditionTrue, "WithImage")

	// A rebuild that cannot be does not keep it on.
	s.Edit(s.claim, func() {
		s.claim.Spec.UserData.Name = "missing"
		metav1.SetMetaDataAnnotation(&s.claim.ObjectMeta, infrav1.RebuildAnnotation, "again")
		metav1.SetMetaDataAnnotation(&s.claim.ObjectMeta, hold, "")
	})
	powered(false)
	s.says(bmov1alpha1.SynchronizedCondition, metav1.ConditionFalse, bmov1alpha1.BadUserDataSecretReason)
}

// TestImageThatIsIgnored changes the image without a text for a rebuild.
func TestImageThatIsIgnored(t *testing.T) {
	s := newLifeStory(t)
	s.Edit(s.claim, func() { s.claim.Spec.Image.URL = "https://images.example.com/second.raw" })
	s.says(bmov1alpha1.SynchronizedCondition, metav1.ConditionFalse, infrav1.ImageChangeIgnoredReason)
	s.says(bmov1alpha1.ProvisionedCondition, metav1.ConditionFalse, infrav1.ImageChangeIgnoredReason)
}

// TestReservedClaim reserves the claim, as node reuse does: a new virtual machine is as good, so that it is deleted.
func TestReservedClaim(t *testing.T) {
	s := newLifeStory(t)
	vm := s.machine(t)
	s.Edit(s.claim, func() {
		s.claim.Labels[infrav1.NodeReuseLabel] = "kept"
		s.claim.Spec.Image, s.claim.Spec.UserData = nil, nil
	})
	s.AwaitGone(s.claim)
	expect.That(t, apierrors.IsNotFound(s.admin.Get(t.Context(), client.ObjectKeyFromObject(vm), vm)), "the virtual machine is there yet")
}
