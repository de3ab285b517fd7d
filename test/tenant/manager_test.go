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

package tenant

import (
	"maps"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// deleteForMove is the mark of clusterctl on what it deletes.
const deleteForMove = "clusterctl.cluster.x-k8s.io/delete-for-move"

// asManager returns a client with the account of the hostclaim manager.
func (w *world) asManager() client.Client {
	w.T.Helper()
	manager, err := client.New(server.As(harness.HostClaimAccount()), client.Options{Scheme: server.Scheme})
	w.OK(err)
	return manager
}

// fullHost is a host with something in the fields that the manager may not change.
func (w *world) fullHost() *bmov1alpha1.BareMetalHost {
	w.T.Helper()
	host := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.infra, Name: "full", Labels: map[string]string{"rack": "a1"},
			Annotations: map[string]string{bmov1alpha1.PausedAnnotation: "", "hostclaim.metal3.io/release": ""},
			Finalizers:  []string{bmov1alpha1.BareMetalHostFinalizer},
		},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BMC:            bmov1alpha1.BMCDetails{Address: "redfish://192.0.2.1/1", CredentialsName: "bmc"},
			BootMACAddress: "00:00:5e:00:53:01", Description: "first",
		},
	}
	w.OK(server.Client.Create(w.Ctx, host))
	return host
}

// A manager that is taken over must not reach what is the infrastructure team's.
func TestManagerCannotChangeWhatIsTheInfrastructureTeams(t *testing.T) {
	w := newWorld(t)
	manager, host := w.asManager(), w.fullHost()
	tests := map[string]func(*bmov1alpha1.BareMetalHost){
		"spec.bmc":            func(h *bmov1alpha1.BareMetalHost) { h.Spec.BMC.Address = "redfish://192.0.2.66/1" },
		"spec.bmc ":           func(h *bmov1alpha1.BareMetalHost) { h.Spec.BMC.CredentialsName = "mine" },
		"spec.bootMACAddress": func(h *bmov1alpha1.BareMetalHost) { h.Spec.BootMACAddress = "00:00:5e:00:53:66" },
		"spec.raid":           func(h *bmov1alpha1.BareMetalHost) { h.Spec.RAID = &bmov1alpha1.RAIDConfig{} },
		"spec.firmware": func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.Firmware = &bmov1alpha1.FirmwareConfig{} //nolint:staticcheck // deprecated, and still to be protected
		},
		"spec.rootDeviceHints": func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.RootDeviceHints = &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/sdb"}
		},
		"spec.externallyProvisioned":          func(h *bmov1alpha1.BareMetalHost) { h.Spec.ExternallyProvisioned = true },
		"spec.disablePowerOff":                func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = true },
		"spec.description":                    func(h *bmov1alpha1.BareMetalHost) { h.Spec.Description = "" },
		"spec.taints":                         func(h *bmov1alpha1.BareMetalHost) { h.Spec.Taints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}} },
		"spec.preprovisioningNetworkDataName": func(h *bmov1alpha1.BareMetalHost) { h.Spec.PreprovisioningNetworkDataName = "mine" },
		"baremetalhost.metal3.io/paused":      func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, bmov1alpha1.PausedAnnotation) },
		"baremetalhost.metal3.io/detached":    func(h *bmov1alpha1.BareMetalHost) { h.Annotations[bmov1alpha1.DetachedAnnotation] = "" },
		"delete-for-move":                     func(h *bmov1alpha1.BareMetalHost) { h.Annotations[deleteForMove] = "" },
		"reboot.metal3.io/operator":           func(h *bmov1alpha1.BareMetalHost) { h.Annotations["reboot.metal3.io/operator"] = "" },
		"rack":                                func(h *bmov1alpha1.BareMetalHost) { h.Labels["rack"] = "b2" },
		"finalizers and owners":               func(h *bmov1alpha1.BareMetalHost) { h.Finalizers = nil },
		"finalizers and owners ": func(h *bmov1alpha1.BareMetalHost) {
			h.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "x", UID: "x"}}
		},
	}
	for part, edit := range tests {
		t.Run(part, func(t *testing.T) {
			edited := host.DeepCopy()
			edit(edited)
			g := gomega.NewWithT(t)
			g.Eventually(func() error {
				return manager.Patch(t.Context(), edited.DeepCopy(), client.MergeFrom(host), client.DryRunAll)
			}).Should(gomega.And(
				gomega.Satisfy(apierrors.IsForbidden), gomega.MatchError(gomega.ContainSubstring("hostclaim manager may not change")),
				gomega.MatchError(gomega.ContainSubstring(part))))
			g.Expect(server.Client.Patch(t.Context(), edited, client.MergeFrom(host), client.DryRunAll)).To(gomega.Succeed(), "administrators may")
		})
	}
}

func TestManagerMayWriteWhatItWrites(t *testing.T) {
	w := newWorld(t)
	paused := w.fullHost()
	host := paused.DeepCopy()
	delete(host.Annotations, bmov1alpha1.PausedAnnotation) // the manager may not touch a pause of others
	host.Annotations[deleteForMove] = ""
	w.OK(server.Client.Patch(w.Ctx, host, client.MergeFrom(paused)))
	edited := host.DeepCopy()
	edited.Labels[uidLabel] = "uid"
	for _, key := range []string{"hostclaim.metal3.io/release", deleteForMove} {
		delete(edited.Annotations, key)
	}
	edited.Annotations["capm3.metal3.io/unhealthy"] = "capm3/UnhealthyNode"
	for _, key := range []string{"hostclaim.metal3.io/fence", "reboot.metal3.io", "reboot.metal3.io/hostclaim.x"} {
		edited.Annotations[key] = ""
	}
	maps.Copy(edited.Annotations, map[string]string{
		bmov1alpha1.PausedAnnotation: "hostclaim.metal3.io/move", bmov1alpha1.StatusAnnotation: "{}",
		"clusterctl.cluster.x-k8s.io/block-move": "hostclaim-manager",
	})
	edited.Labels["clusterctl.cluster.x-k8s.io/move-hierarchy"] = "hostclaim-manager"
	secret := &corev1.SecretReference{Namespace: w.infra, Name: "x"}
	edited.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "HostClaim", Name: "x"}
	edited.Spec.Image, edited.Spec.Online = &bmov1alpha1.Image{URL: goodURL}, true
	edited.Spec.UserData, edited.Spec.MetaData, edited.Spec.NetworkData = secret, secret, secret
	edited.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "x"}
	edited.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
	w.OK(w.asManager().Patch(w.Ctx, edited.DeepCopy(), client.MergeFrom(host)))
	back := edited.DeepCopy()
	back.Spec, back.Labels, back.Annotations = host.Spec, host.Labels, host.DeepCopy().Annotations
	back.Annotations["capm3.metal3.io/unhealthy"] = "capm3/UnhealthyNode" // an administrator takes it off
	delete(back.Annotations, deleteForMove)                               // clusterctl puts it on
	w.OK(w.asManager().Patch(w.Ctx, back, client.MergeFrom(edited), client.DryRunAll))
}

// A server that its tenant found unhealthy goes back marked, where policy permits it, and
// only if the tenant has used it: a pool is not used up by claims that come and go.
func TestUnhealthyServerOfATenantIsMarkedOnceItWasUsed(t *testing.T) {
	w := newWorld(t)
	w.policy(map[string]string{"hostclaim.metal3.io/allow-unhealthy-mark": "true"})
	host := w.host("host-0")
	unhealthy := func(c *bmov1alpha1.HostClaim) {
		c.Annotations = map[string]string{"hostclaim.metal3.io/unhealthy": "true"}
	}
	for _, story := range []struct {
		name   string
		used   bool
		change []func(*bmov1alpha1.HostClaim)
	}{
		{"unused", false, []func(*bmov1alpha1.HostClaim){unhealthy}},
		{"used", true, []func(*bmov1alpha1.HostClaim){unhealthy, withImage(goodURL, "")}},
	} {
		claim := w.attack(story.name, story.change...)
		if story.used {
			w.ready(claim)
		} else {
			w.bound(claim)
		}
		w.OK(mallory.Delete(w.Ctx, claim))
		w.AwaitGone(claim)
		_, marked := w.readHost(host).Annotations["capm3.metal3.io/unhealthy"]
		w.G.Expect(marked).To(gomega.Equal(story.used), story.name)
		w.G.Expect(w.readHost(host).Spec.ConsumerRef).To(gomega.BeNil())
	}
}

func TestManagerWritesOnlyTheFactsThatItPublishes(t *testing.T) {
	w := newWorld(t)
	manager := w.asManager()
	facts := func(name string, labels map[string]string) *bmov1alpha1.HardwareData {
		return &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: name, Labels: labels}}
	}
	ofOperator, ours := facts("host-0", nil), facts("machine-hostclaim", map[string]string{uidLabel: "uid"})
	w.OK(server.Client.Create(w.Ctx, ofOperator))
	w.OK(manager.Create(w.Ctx, ours))
	refused := func(what string, request func() error) {
		w.T.Helper()
		w.G.Eventually(request).Should(gomega.MatchError(gomega.ContainSubstring("writes only HardwareData with the label")), what)
	}
	relabeled, unlabeled := ofOperator.DeepCopy(), ours.DeepCopy()
	relabeled.Labels, unlabeled.Labels = ours.Labels, nil
	refused("create without the mark", func() error { return manager.Create(w.Ctx, facts("host-1", nil), client.DryRunAll) })
	refused("take one over", func() error {
		return manager.Patch(w.Ctx, relabeled.DeepCopy(), client.MergeFrom(ofOperator), client.DryRunAll)
	})
	refused("delete one", func() error { return manager.Delete(w.Ctx, ofOperator, client.DryRunAll) })
	refused("drop the mark", func() error {
		return manager.Patch(w.Ctx, unlabeled.DeepCopy(), client.MergeFrom(ours), client.DryRunAll)
	})
	w.OK(manager.Delete(w.Ctx, ours))
}
