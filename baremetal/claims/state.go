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
	"regexp"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// Phase is how far a claim has come, seen from its machine.
type Phase string

const (
	// Absent means that the machine has no claim. It is the zero value.
	Absent Phase = ""
	// Unbound means that no host has answered the claim yet.
	Unbound Phase = "Unbound"
	// Bound means that a host belongs to the claim and does not run what the
	// claim asks for, be it that the claim asks for nothing yet.
	Bound Phase = "Bound"
	// Provisioned means that the host runs what the claim asks for.
	Provisioned Phase = "Provisioned"
	// Failed means that a host belongs to the claim, but what the claim asks
	// for cannot be done; its explanation has the cause.
	Failed Phase = "Failed"
	// Lost means that the host does not exist any more.
	Lost Phase = "Lost"
)

// State is a claim as its machine sees it.
type State struct {
	// Phase is how far the claim has come.
	Phase Phase
	// Name of the claim; empty when it is Absent.
	Name string
	// Deleting is true if the claim has been deleted and its host is on the way
	// back to the pool.
	Deleting bool
	// Reason and Message are the claim's own explanation of its phase, empty
	// when it has given none. They fit into a condition, also when another cluster wrote them.
	Reason, Message string
	// FactsReason and FactsMessage are the claim's own explanation why the facts
	// of its host are not published; empty when they are, or when it gives none.
	FactsReason, FactsMessage string
	// Binding is true if a host was chosen for the claim and is about to be bound.
	Binding bool
	// HostInError is true if the host reports an error, whatever it runs.
	HostInError bool
	// HostNamespace and HostName name the bound host; empty when there is none.
	HostNamespace, HostName string
	// HostOn is true if the bound host is on, whatever the claim asks for.
	HostOn bool
	// Unsynchronized is why the host is not given what the claim asks for; empty if it is.
	Unsynchronized string
	// Deployment is what the claim asks for so far; nil when it asks for nothing.
	Deployment *Deployment
	// PoweredOn is the power state that the claim asks for.
	PoweredOn bool
	// TakeOver is the name of the host of CAPM3 that the claim is to take over, or has; empty if it looked for one.
	TakeOver string
	// Rebuild is the text by which the claim asks for a rebuild; empty if it does not.
	Rebuild string
	// Synchronized is true if the spec of the host has what the claim asks for now.
	Synchronized bool
	// Empty is true if nothing is on the host, for the claim as it is now.
	Empty bool
}

// HasHost reports whether a host belongs to the claim and still exists.
func (s State) HasHost() bool {
	return s.Phase == Bound || s.Phase == Provisioned || s.Phase == Failed
}

// Read returns the state of a claim, as its machine sees it. The claim is nil if there is none.
func Read(claim *bmov1alpha1.HostClaim) State {
	if claim == nil {
		return State{Phase: Absent}
	}
	s := State{
		Phase:      phase(claim),
		Name:       claim.Name[:min(len(claim.Name), longestName)],
		Deleting:   !claim.DeletionTimestamp.IsZero(),
		Deployment: deployment(claim.Spec),
		PoweredOn:  claim.Spec.PoweredOn,
		TakeOver:   claim.Annotations[infrav1.TakeOverAnnotation],
		Rebuild:    claim.Annotations[infrav1.RebuildAnnotation],
	}
	s.Binding = s.Phase == Unbound && binding(claim)
	if s.HasHost() {
		s.HostNamespace, s.HostName = claim.Status.BareMetalHost.Namespace, claim.Status.BareMetalHost.Name
		s.HostOn = claim.Status.PoweredOn
		if c := condition(claim, bmov1alpha1.SynchronizedCondition); c.Status == metav1.ConditionFalse {
			s.Unsynchronized = usableMessage(c.Message)
		}
		if c := condition(claim, infrav1.HardwareDataPublishedCondition); c.Status == metav1.ConditionFalse {
			s.FactsReason, s.FactsMessage = usableReason(c.Reason), usableMessage(c.Message)
		}
	}
	s.HostInError = s.HasHost() && hostInError(claim)
	s.Synchronized = s.HasHost() && holds(claim, bmov1alpha1.SynchronizedCondition)
	s.Empty = s.Synchronized && !s.HostInError && holds(claim, bmov1alpha1.AvailableForProvisioningCondition)
	s.Reason, s.Message = explanation(claim, s.Phase)
	return s
}

func phase(claim *bmov1alpha1.HostClaim) Phase {
	associated := condition(claim, bmov1alpha1.AssociatedCondition)
	switch {
	case associated.Reason == bmov1alpha1.MissingBareMetalHostReason && associated.Status == metav1.ConditionFalse:
		return Lost
	case associated.Status != metav1.ConditionTrue || !named(claim.Status.BareMetalHost):
		return Unbound
	case provisioned(claim):
		return Provisioned
	case refused(claim):
		return Failed
	default:
		return Bound
	}
}

// binding reports whether the claim names a host that was chosen for it, or one that it is about to have again.
func binding(claim *bmov1alpha1.HostClaim) bool {
	c := condition(claim, bmov1alpha1.AssociatedCondition)
	switch c.Reason {
	case infrav1.BindingReason, bmov1alpha1.MissingBareMetalHostReason, bmov1alpha1.BareMetalHostAssociatedReason:
		return c.Status == metav1.ConditionUnknown && named(claim.Status.BareMetalHost)
	default:
		return false
	}
}

// provisioned believes the condition only for what the claim asks for now.
func provisioned(claim *bmov1alpha1.HostClaim) bool {
	return holds(claim, bmov1alpha1.ProvisionedCondition) && deployment(claim.Spec) != nil
}

// refused reports whether what the claim asks for now cannot be brought to its host.
func refused(claim *bmov1alpha1.HostClaim) bool {
	c := condition(claim, bmov1alpha1.SynchronizedCondition)
	return c.Status == metav1.ConditionFalse && current(claim, c)
}

// current reports whether the condition is about the spec as it is now. A writer that
// sets no observedGeneration is believed.
func current(claim *bmov1alpha1.HostClaim, c metav1.Condition) bool {
	return c.ObservedGeneration == 0 || c.ObservedGeneration == claim.Generation
}

func hostInError(claim *bmov1alpha1.HostClaim) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c metav1.Condition) bool {
		return c.Status != metav1.ConditionTrue && c.Reason == bmov1alpha1.ErrorReason
	})
}

// explanation returns reason and message of the condition that explains the phase of the claim. For a
// bound claim, a condition about an older spec explains nothing.
func explanation(claim *bmov1alpha1.HostClaim, p Phase) (reason, message string) {
	var types []string
	switch p {
	case Unbound, Lost:
		types = []string{bmov1alpha1.AssociatedCondition}
	case Failed, Bound:
		types = []string{bmov1alpha1.SynchronizedCondition, bmov1alpha1.ProvisionedCondition, bmov1alpha1.ReadyCondition}
	case Absent, Provisioned:
	}
	if host := claim.Status.BareMetalHost; p == Unbound && host != nil && !named(host) {
		return infrav1.InvalidHostClaimStatusReason, unnamedHost
	}
	for _, t := range types {
		if c := condition(claim, t); c.Type != "" && c.Status != metav1.ConditionTrue && (p != Bound || current(claim, c)) {
			return usableReason(c.Reason), usableMessage(c.Message)
		}
	}
	return "", ""
}

// holds reports whether a condition is True for the claim as it is now.
func holds(claim *bmov1alpha1.HostClaim, conditionType string) bool {
	c := condition(claim, conditionType)
	return c.Status == metav1.ConditionTrue && current(claim, c)
}

// condition returns the zero value for a condition that is missing.
func condition(claim *bmov1alpha1.HostClaim, conditionType string) metav1.Condition {
	if c := meta.FindStatusCondition(claim.Status.Conditions, conditionType); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// deployment reads back what Desired wrote. References to secrets of other
// namespaces are not ours and are dropped with the next write.
func deployment(spec bmov1alpha1.HostClaimSpec) *Deployment {
	if spec.Image == nil && spec.CustomDeploy == nil {
		return nil
	}
	return &Deployment{
		Image:        spec.Image,
		CustomDeploy: spec.CustomDeploy,
		UserData:     secretName(spec.UserData),
		MetaData:     secretName(spec.MetaData),
		NetworkData:  secretName(spec.NetworkData),
	}
}

func secretName(ref *corev1.SecretReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

// Movable returns the condition Movable of a claim in the namespace of its machine, with a
// reason and message that fit into a condition of the machine, and whether the claim has it.
func Movable(claim *bmov1alpha1.HostClaim) (metav1.Condition, bool) {
	c := condition(claim, infrav1.MovableCondition)
	if c.Type == "" {
		return metav1.Condition{}, false
	}
	return metav1.Condition{Type: c.Type, Status: c.Status, Reason: usableReason(c.Reason), Message: usableMessage(c.Message)}, true
}

// BlocksMove reports whether clusterctl must not move the machine of the claim, since the claim
// is not ready or must stay. clusterctl looks at the machine, too, because it passes over
// a claim whose CRD lacks its label: the machine would be moved without its claim.
func BlocksMove(claim *bmov1alpha1.HostClaim) bool {
	return metav1.HasAnnotation(claim.ObjectMeta, infrav1.BlockMoveAnnotation)
}

// PauseValue is the value of the pause annotation that the machine controller
// sets on a claim, so that it never takes off one that a user has set.
const PauseValue = infrav1.MachineFieldOwner

// Repause puts the pause annotation on a claim whose Cluster is paused, or takes ours off, and
// reports whether that changes the claim. A claim that was handed over to the credentials of its
// machine is not paused, since no Cluster would unpause it: clusterctl replaces the annotations of a
// machine, the record of its credentials among them, before it deletes the machine.
func Repause(claim *bmov1alpha1.HostClaim, clusterPaused bool) bool {
	current, annotated := claim.Annotations[clusterv1.PausedAnnotation]
	switch {
	case clusterPaused && !annotated && claim.Labels[infrav1.OriginKey] == "":
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, clusterv1.PausedAnnotation, PauseValue)
		return true
	case !clusterPaused && current == PauseValue:
		delete(claim.Annotations, clusterv1.PausedAnnotation)
		return true
	default:
		return false
	}
}

// The status of a claim may come from another cluster, which does not check it as
// ours does. What a Metal3Machine repeats of it must fit there: one condition that
// is refused would keep all the others as they were.

// longest is how many bytes of a message or a reason are repeated.
const longest = 1024

// longestName is how long the name of an object can be.
const longestName = 253

// reasons are those that a condition can have.
var reasons = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// unnamedHost is the message for a claim whose host has no valid name.
const unnamedHost = "The HostClaim names a host whose name is none: have its hostclaim manager looked at"

// usableReason is the reason, or one of ours if it is none.
func usableReason(reason string) string {
	if len(reason) > longest || !reasons.MatchString(reason) {
		return infrav1.InvalidHostClaimStatusReason
	}
	return reason
}

// usableMessage is the message in one line of bounded length that can be printed.
func usableMessage(message string) string {
	return text.Shorten(text.Printable(text.Cut(message, 2*longest)), longest) // no more is looked at than could be shown
}

// named reports whether a reference names what can be a host. Its name becomes part of the provider ID.
func named(host *bmov1alpha1.ObjectReference) bool {
	return host != nil && len(validation.IsDNS1123Subdomain(host.Name)) == 0 &&
		(host.Namespace == "" || len(validation.IsDNS1123Label(host.Namespace)) == 0)
}
