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
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/orphan"
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

// A conversion webhook would be given every host, and a field that a schema lacks is lost.
func TestManagerMayOnlyLabelDefinitionsAndShowColumns(t *testing.T) {
	w := newWorld(t)
	const columns, schema = "/spec/versions/0/additionalPrinterColumns", "/spec/versions/0/schema/openAPIV3Schema/properties/spec"
	for name, test := range map[string]struct {
		kind, patch string
		allowed     bool
	}{
		"the label of clusterctl": {"baremetalhosts", `{"op":"add","path":"/metadata/labels","value":{"clusterctl.cluster.x-k8s.io":""}}`, true},
		"the columns of claims":   {"hostclaims", `{"op":"add","path":"` + columns + `","value":[{"name":"A","type":"string","jsonPath":".a"}]}`, true},
		"the columns of policies": {"hostdeploypolicies", `{"op":"add","path":"` + columns + `","value":[{"name":"A","type":"string","jsonPath":".a"}]}`, true},
		"the columns of hosts":    {"baremetalhosts", `{"op":"add","path":"` + columns + `","value":[{"name":"A","type":"string","jsonPath":".a"}]}`, false},
		"the names of hosts":      {"baremetalhosts", `{"op":"add","path":"/spec/names/categories","value":["mine"]}`, false},
		"the names of claims":     {"hostclaims", `{"op":"add","path":"/spec/names/categories","value":["mine"]}`, false},
		"the schema of claims":    {"hostclaims", `{"op":"remove","path":"` + schema + `/properties/image"}`, false},
		"a field of claims":       {"hostclaims", `{"op":"add","path":"` + schema + `/properties/mine","value":{"type":"string"}}`, false},
		"a version of claims": {
			"hostclaims", `{"op":"add","path":"/spec/versions/-","value":{"name":"v1","served":false,"storage":false,` +
				`"schema":{"openAPIV3Schema":{"type":"object"}}}}`, false,
		},
		"what converts claims": {
			"hostclaims", `{"op":"add","path":"/spec/conversion","value":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],` +
				`"clientConfig":{"url":"https://mine.example.com/"}}}}`, false,
		},
		"the CA that cert-manager gives": {
			"hostclaims", `{"op":"add","path":"/metadata/annotations","value":{"cert-manager.io/inject-ca-from":"mine/mine"}}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			crd := &metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
				ObjectMeta: metav1.ObjectMeta{Name: test.kind + ".metal3.io"},
			}
			patch := func(c client.Client) error {
				return c.Patch(t.Context(), crd.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte("["+test.patch+"]")), client.DryRunAll)
			}
			if test.allowed {
				g.Expect(patch(w.asManager())).To(gomega.Succeed())
				return
			}
			g.Eventually(func() error { return patch(w.asManager()) }).Should(gomega.MatchError(gomega.ContainSubstring("hostclaim manager may not change")))
			g.Expect(patch(server.Client)).To(gomega.Succeed(), "administrators may")
		})
	}
}

// TestManagerMayWriteWhatItWrites has the account of the manager write what its decisions return, from the
// bind of a host to its release, so that a change of theirs which the policy refuses fails here.
func TestManagerMayWriteWhatItWrites(t *testing.T) {
	w := newWorld(t)
	paused := w.fullHost()
	host := paused.DeepCopy()
	delete(host.Annotations, bmov1alpha1.PausedAnnotation) // the manager may not touch a pause of others
	w.OK(server.Client.Patch(w.Ctx, host, client.MergeFrom(paused)))
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.infra, Name: "machine", UID: "claim-uid", Labels: map[string]string{infrav1.MoveLabel: ""},
	}}
	claim.Spec = bmov1alpha1.HostClaimSpec{PoweredOn: true, Image: &bmov1alpha1.Image{URL: goodURL}}
	claim.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "x"}
	secret := &corev1.SecretReference{Namespace: w.infra, Name: "x"}
	payload := &binding.Payload{
		Image: claim.Spec.Image, CustomDeploy: claim.Spec.CustomDeploy, UserData: secret, MetaData: secret, NetworkData: secret,
	}
	manager := w.asManager()
	write := func(what string, change func(*bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost) {
		w.T.Helper()
		changed := change(host)
		w.G.Expect(manager.Patch(w.Ctx, changed, client.MergeFrom(host))).To(gomega.Succeed(), what)
		host = changed
	}
	asAdministrator := func(change func(*bmov1alpha1.BareMetalHost)) {
		w.T.Helper()
		changed := host.DeepCopy()
		change(changed)
		w.OK(server.Client.Patch(w.Ctx, changed, client.MergeFrom(host)))
		host = changed
	}
	bind := func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost { return binding.Bind(h, claim) }
	desired := func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
		return binding.PowerChanged(binding.Desired(claim, h, payload), time.Now())
	}
	ready := func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
		out, err := binding.ReadyToMove(h, claim)
		w.OK(err)
		return out
	}

	write("FencedHost", func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost { return binding.FencedHost(h, claim) })
	write("Unfenced", binding.Unfenced)
	write("Bind", bind)
	write("Desired", desired)
	write("ReadyToMove", ready)
	write("Resumed", binding.Resumed)
	write("Guarded", func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost { return binding.Guarded(h, claim) })
	write("PassedReboot", func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
		return binding.PassedReboot(h, binding.Reboot{Mode: bmov1alpha1.RebootModeHard, ID: "x"})
	})
	write("WithHeld", func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
		h = h.DeepCopy()
		h.Status.Provisioning.State = bmov1alpha1.StateProvisioned
		out, complete := binding.WithHeld(map[string]binding.Reboot{infrav1.HeldRebootPrefix + "x": {}}, h)
		w.G.Expect(complete).To(gomega.BeTrue())
		return out
	})
	write("Emptied", func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost { return binding.Emptied(claim, h, true) })
	write("Desired again", desired)
	write("Marked", func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost { return orphan.Marked(h, time.Now()) })
	write("Unmarked", orphan.Unmarked)
	write("ReadyToMove again", ready)
	write("ClearedUnhealthy", binding.ClearedUnhealthy)
	asAdministrator(func(h *bmov1alpha1.BareMetalHost) { h.Annotations[deleteForMove] = "" }) // as clusterctl does
	write("Freed", binding.Freed)
	asAdministrator(func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, "capm3.metal3.io/unhealthy") })
	asAdministrator(func(h *bmov1alpha1.BareMetalHost) { // as CAPM3 does
		h.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: h.Namespace, Name: "machine",
		}
		metav1.SetMetaDataLabel(&h.ObjectMeta, clusterv1.ClusterNameLabel, "a")
	})
	ofCAPM3 := host.DeepCopy()
	write("Bind, taking a host over", bind)
	write("as it was before that", func(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
		ofCAPM3.ResourceVersion = h.ResourceVersion
		return ofCAPM3
	})
	for _, cleared := range []func(*bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost{binding.Cleared, ready} {
		write("Bind", bind)
		write("Desired", desired)
		write("Cleared", cleared)
		asAdministrator(func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.ConsumerRef, h.Annotations[deleteForMove] = nil, ""
		})
		write("Tidied", orphan.Tidied)
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
