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

package remediation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

const (
	// hardOff is the value of the annotation that holds a server off: its operating system is
	// not asked, since it does not answer.
	hardOff = `{"mode":"hard"}`

	// maxKeyName is the limit of the part of a key after the slash.
	maxKeyName = 63
	// What holds where the strategy of a remediation, or a field of it, is left out.
	defaultLimit   = 1
	defaultTimeout = 600
)

// limitOf returns how often the reboot is repeated.
func limitOf(r *infrav1.Metal3Remediation) int32 {
	return cmp.Or(ptr.Deref(r.Spec.Strategy, infrav1.RemediationStrategy{}).RetryLimit, defaultLimit)
}

// timeoutOf returns how long one reboot may take.
func timeoutOf(r *infrav1.Metal3Remediation) time.Duration {
	return time.Duration(cmp.Or(ptr.Deref(r.Spec.Strategy, infrav1.RemediationStrategy{}).TimeoutSeconds, defaultTimeout)) * time.Second
}

// deadlineOf returns when the current reboot must have helped.
func deadlineOf(r *infrav1.Metal3Remediation) time.Time {
	return r.Status.LastRemediated.Add(timeoutOf(r))
}

// rebooting reports whether a reboot has begun and has not been given up.
func rebooting(r *infrav1.Metal3Remediation) bool {
	phase := r.Status.Phase
	return !r.Status.LastRemediated.IsZero() && (phase == infrav1.RemediationPhaseRunning || phase == infrav1.RemediationPhaseWaiting)
}

// begun reports whether a remediation may have changed something.
func begun(r *infrav1.Metal3Remediation) bool {
	return r.Status.Phase != "" && (r.DeletionTimestamp == nil || slices.Contains(r.Finalizers, infrav1.RemediationFinalizer))
}

// mayAct reports whether a remediation has begun, or nothing keeps it from being the next one.
func mayAct(r *infrav1.Metal3Remediation) bool {
	return begun(r) || r.DeletionTimestamp == nil && !annotations.HasPaused(r)
}

// inTurn orders the remediations of a Machine: one that has begun goes on, then the oldest one
// begins.
func inTurn(a, b *infrav1.Metal3Remediation) int {
	if begun(a) != begun(b) {
		return map[bool]int{true: -1, false: 1}[begun(a)]
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// ownerOf is the Machine among the owners of an object, if there is one.
func ownerOf(o metav1.Object) (metav1.OwnerReference, bool) {
	for _, ref := range o.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && gv.Group == clusterv1.GroupVersion.Group && ref.Kind == "Machine" {
			return ref, true
		}
	}
	return metav1.OwnerReference{}, false
}

// hostState is what the HostClaim of the machine reports about its host. It is empty if there is
// no claim.
type hostState struct {
	claims.State

	// unhealthy means that the host is to be kept out of the pool when the claim is released.
	unhealthy bool
	// held means that this remediation holds the server off, and heldByOther that another one does.
	held, heldByOther bool
}

// readHostState reads a claim, nil when there is none, for the remediation of this name.
func readHostState(claim *bmov1alpha1.HostClaim, remediation string) hostState {
	h := hostState{State: claims.Read(claim)}
	if claim == nil {
		return h
	}
	h.unhealthy = claim.Annotations[infrav1.UnhealthyClaimAnnotation] == "true"
	for key := range claim.Annotations {
		switch {
		case key == holdOffKey(remediation):
			h.held = true
		case strings.HasPrefix(key, infrav1.RemediationRebootPrefix):
			h.heldByOther = true
		}
	}
	return h
}

// off reports whether the remediation has switched the server off. Nothing is known of the
// power of a host that does not belong to the claim.
func (h hostState) off() bool { return h.held && h.HasHost() && !h.HostOn }

// canLetGo reports whether the remediation holds the server off and can change that.
func (h hostState) canLetGo() bool { return h.held && !h.Deleting }

// problem returns why the host is not switched, by the conditions of the claim.
func (h hostState) problem() string {
	if h.Unsynchronized == "" {
		return ""
	}
	return ": " + h.Unsynchronized
}

// holdOffKey is the annotation by which the remediation of this name holds a server off. It is
// made from the name and not from the UID, so that it is found again after a move.
func holdOffKey(remediation string) string {
	_, prefix, _ := strings.Cut(infrav1.RemediationRebootPrefix, "/")
	return infrav1.RemediationRebootPrefix + text.Name(remediation, maxKeyName-len(prefix))
}

// outOfService is the taint that has Kubernetes take Pods and volumes away from a Node whose
// server is off.
func outOfService() corev1.Taint {
	return corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}
}

func isOutOfService(taint corev1.Taint) bool {
	ours := outOfService()
	return taint.MatchTaint(&ours)
}

// tainted reports whether a Node is declared out of service by a taint like ours.
func tainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isOutOfService)
}

// withTaint returns the Node declared out of service.
func withTaint(node *corev1.Node) *corev1.Node {
	out := node.DeepCopy()
	out.Spec.Taints = append(out.Spec.Taints, outOfService())
	return out
}

// withoutTaint returns the Node in service again.
func withoutTaint(node *corev1.Node) *corev1.Node {
	out := node.DeepCopy()
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, isOutOfService)
	return out
}
