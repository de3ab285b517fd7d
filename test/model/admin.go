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

package model

import (
	"encoding/json"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

const (
	// adminName is the field manager of a person with kubectl.
	adminName = "kubectl-edit"
	maxHosts  = 5
	tierLabel = "tier"
	// operatorFinalizer holds a host until baremetal-operator lets it go.
	operatorFinalizer = "baremetalhost.metal3.io"
)

// makePolicy makes the policy of a namespace of hosts.
func (w *World) makePolicy(namespace string) bool {
	policy := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "policy"}}
	w.admit(policy)
	_, ok := w.createTyped(store.Policies, policy)
	return ok
}

// admit draws whom a policy admits.
func (w *World) admit(policy *bmov1alpha1.HostDeployPolicy) {
	spec := &bmov1alpha1.HostClaimNamespaces{}
	switch w.choices.Intn(10) {
	case 0:
		spec.Names = []string{one(w.choices, w.tenants)}
	case 1:
		spec.HasLabels = []bmov1alpha1.NameValuePair{{Name: tierLabel, Value: "gold"}}
	case 2:
		spec = nil
	case 3:
		spec.NameMatches = "no-such-.*"
	default:
		spec.NameMatches = w.config.Prefix + "tenant[01]"
	}
	policy.Spec.HostClaimNamespaces = spec
}

// editPolicy adds, changes or removes a policy.
func (w *World) editPolicy() bool {
	namespace := one(w.choices, w.infra)
	for _, key := range w.attention {
		if w.infraNamespace(key.Namespace) {
			namespace = key.Namespace
		}
	}
	v, found := w.pick(store.Policies, func(v *store.Version) bool { return v.Key.Namespace == namespace })
	switch {
	case !found:
		return w.makePolicy(namespace)
	case chance(w.choices, 3):
		return w.remove(adminName, v)
	default:
		return edit(w, adminName, v, "", w.admit)
	}
}

// editLabels changes the labels of a namespace or of a host.
func (w *World) editLabels() bool {
	if chance(w.choices, 2) {
		v, found := w.pick(store.Namespaces, func(v *store.Version) bool { return !w.infraNamespace(v.Key.Name) })
		return found && edit(w, adminName, v, "", func(n *corev1.Namespace) {
			if n.Labels[tierLabel] != "" {
				delete(n.Labels, tierLabel)
				return
			}
			n.Labels[tierLabel] = "gold"
		})
	}
	v, found := w.pick(store.Hosts, func(*store.Version) bool { return true })
	return found && edit(w, adminName, v, "", func(h *bmov1alpha1.BareMetalHost) {
		if h.Labels == nil {
			h.Labels = map[string]string{}
		}
		h.Labels[rackLabel] = one(w.choices, []string{"a", "b"})
	})
}

// makeHost registers a host that is free.
func (w *World) makeHost() bool {
	namespace := one(w.choices, append(w.infra[:len(w.infra):len(w.infra)], w.infra[0], one(w.choices, w.tenants)))
	if w.beside || (w.features[Moved] && chance(w.choices, 2)) {
		namespace = one(w.choices, w.tenants) // only hosts beside their claims move
	}
	name := w.hostName(namespace)
	w.hosts++
	modes := []bmov1alpha1.AutomatedCleaningMode{bmov1alpha1.CleaningModeDisabled, bmov1alpha1.CleaningModeMetadata}
	host := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Finalizers: []string{operatorFinalizer},
			Labels: map[string]string{rackLabel: one(w.choices, []string{"a", "b"})},
		},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BMC:                   bmov1alpha1.BMCDetails{Address: bmcAddress(namespace) + name, CredentialsName: name + "-bmc"},
			BootMACAddress:        "02:00:00:00:00:01",
			AutomatedCleaningMode: one(w.choices, modes),
		},
	}
	if chance(w.choices, 3) {
		host.Spec.PreprovisioningNetworkDataName = "infra-network"
	}
	if w.hosts%2 == 0 {
		host.Annotations = map[string]string{infrav1.FastTrackAnnotation: "true"}
	}
	applied(host)
	v, ok := w.createTyped(store.Hosts, host)
	if !ok {
		return false
	}
	w.machines[v.UID] = &machine{mode: host.Spec.AutomatedCleaningMode}
	return w.report(v, bmov1alpha1.BareMetalHostStatus{
		OperationalStatus: bmov1alpha1.OperationalStatusOK,
		Provisioning:      bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateAvailable},
		HardwareDetails:   &bmov1alpha1.HardwareDetails{Hostname: name, RAMMebibytes: 1024},
	})
}

// hostName is a new name, or that of a host of the namespace that is gone.
func (w *World) hostName(namespace string) string {
	if n := w.choices.Intn(2 * (w.hosts + 1)); n < w.hosts {
		name := fmt.Sprintf("host%d", n)
		if !slices.ContainsFunc(w.log.All(store.Hosts), func(v *store.Version) bool {
			return v.Key.Namespace == namespace && v.Key.Name == name
		}) {
			return name
		}
	}
	return fmt.Sprintf("host%d", w.hosts)
}

// report writes the first status of a host: all of it, since its zero values are
// required as well.
func (w *World) report(v *store.Version, status bmov1alpha1.BareMetalHostStatus) bool {
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		w.fail("player", "%v", err)
		return false
	}
	return w.patch(operatorName, v, "status", text)
}

// bmcAddress starts the addresses of the BMCs of a namespace.
func bmcAddress(namespace string) string {
	return "redfish://bmc." + namespace + "/"
}

// replaceHost deletes a host, or adds one.
func (w *World) replaceHost() bool {
	if len(w.log.All(store.Hosts)) < maxHosts && chance(w.choices, 2) {
		return w.makeHost()
	}
	v, found := w.pick(store.Hosts, func(v *store.Version) bool { return !v.Deleting() })
	return found && w.remove(adminName, v)
}

// holdHost pauses or detaches a host, or asks for its inspection; or ends that.
func (w *World) holdHost() bool {
	v, found := w.pick(store.Hosts, func(v *store.Version) bool { return !v.Deleting() })
	return found && edit(w, adminName, v, "", func(h *bmov1alpha1.BareMetalHost) {
		key := one(w.choices, []string{
			bmov1alpha1.PausedAnnotation, bmov1alpha1.DetachedAnnotation, bmov1alpha1.InspectAnnotationPrefix,
		})
		if annotated(h, key) {
			if key != bmov1alpha1.PausedAnnotation || !binding.PausedForMove(h) {
				delete(h.Annotations, key)
			}
			return
		}
		if h.Annotations == nil {
			h.Annotations = map[string]string{}
		}
		h.Annotations[key] = ""
	})
}

// letGo ends everything that holds a host.
func (w *World) letGo(v *store.Version) bool {
	host := hostOf(v)
	if host.Status.ErrorMessage != "" {
		return w.mend(v)
	}
	return edit(w, adminName, v, "", func(h *bmov1alpha1.BareMetalHost) {
		if !binding.PausedForMove(h) {
			delete(h.Annotations, bmov1alpha1.PausedAnnotation)
		}
		delete(h.Annotations, bmov1alpha1.DetachedAnnotation)
	})
}

// switchCleaning changes the cleaning mode of a host, though not while it is
// being deprovisioned: who switches cleaning off just then wants it so.
func (w *World) switchCleaning() bool {
	v, found := w.pick(store.Hosts, func(v *store.Version) bool {
		host := hostOf(v)
		return host.Spec.Image != nil || w.machines[v.UID].data == ""
	})
	return found && edit(w, adminName, v, "", func(h *bmov1alpha1.BareMetalHost) {
		modes := []bmov1alpha1.AutomatedCleaningMode{bmov1alpha1.CleaningModeDisabled, bmov1alpha1.CleaningModeMetadata}
		h.Spec.AutomatedCleaningMode = one(w.choices, modes)
		w.machines[v.UID].mode = "" // it depends on when the change came
	})
}

// wipe loses the status of a claim, as a restore from a backup does.
func (w *World) wipe() bool {
	v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		life := w.lives[claim.UID]
		return claim.Status.Conditions != nil && !life.forged && !life.unrecorded
	})
	if !found {
		return false
	}
	w.lives[v.UID].wiped = true
	return w.patch(adminName, v, "status", []byte(`{"status":null}`))
}
