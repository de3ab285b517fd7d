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

// Package hostclass decides which controller answers a HostClaim. A claim names a HostClaimClass by label, and the
// class names the controller. A claim that a controller has begun to answer stays with it, by the finalizer, whatever
// becomes of the class.
package hostclass

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// finalizerPrefix begins the finalizer of every controller of claims.
const finalizerPrefix = "hostclaim.metal3.io/"

// MaxArguments is how many bytes the arguments of a claim may have. The API server refuses more where the policy
// claim-class is installed.
const MaxArguments = 4096

// Controller is a controller of HostClaims.
type Controller struct {
	// Name is the controllerName of its classes.
	Name string
	// Finalizer is on the claims that it answers. It begins with hostclaim.metal3.io/.
	Finalizer string
	// Mark is an annotation that it puts on those claims as well, since a restore may leave finalizers out; empty for none.
	Mark string
	// Fallback has it answer claims without a class, and report those that no controller answers. One controller in
	// a cluster does.
	Fallback bool
}

// BareMetal is the hostclaim manager.
func BareMetal() Controller {
	return Controller{Name: hostclaimv1.BareMetalControllerName, Finalizer: infrav1.HostClaimFinalizer, Mark: infrav1.BoundClaimUIDAnnotation, Fallback: true}
}

// Verdict is what a controller makes of a claim.
type Verdict struct {
	// Answers reports whether the claim is this controller's: to answer, or to report why nobody does.
	Answers bool
	// Reason and Message are why the claim may get nothing; empty if it may. What it has, it keeps.
	Reason, Message string
}

// Answered reports whether a controller has begun to answer the claim, so that its class is fixed.
func Answered(claim *bmov1alpha1.HostClaim) bool {
	return slices.ContainsFunc(claim.Finalizers, func(finalizer string) bool { return strings.HasPrefix(finalizer, finalizerPrefix) })
}

// Name is the name of the class of a claim; empty if it has none.
func Name(claim *bmov1alpha1.HostClaim) string { return claim.Labels[infrav1.ClassLabel] }

// Judge returns the verdict about a claim. Class is the one that the claim names, nil if that does not exist;
// namespace are the labels of the namespace of the claim.
func (c Controller) Judge(claim *bmov1alpha1.HostClaim, class *hostclaimv1.HostClaimClass, namespace map[string]string) Verdict {
	other, taken := c.takenByOther(claim), c.taken(claim)
	switch {
	case other && !taken:
		return Verdict{}
	case other:
		return refused(infrav1.ClassNotAcceptedReason, "The claim carries the finalizers or marks of two controllers, of which "+
			"each keeps what it has given: delete the claim, and create another one")
	case Name(claim) != "" && class != nil && class.Spec.ControllerName == c.Name:
		return judgeOwn(class, namespace)
	case taken:
		return c.judgeTaken(claim, class)
	case c.Fallback:
		return judgeUnanswered(claim, class)
	default:
		return Verdict{}
	}
}

// judgeTaken is the verdict about a claim that the controller answers, of a class that is not its own.
func (c Controller) judgeTaken(claim *bmov1alpha1.HostClaim, class *hostclaimv1.HostClaimClass) Verdict {
	switch {
	case Name(claim) == "" && c.Fallback:
		return Verdict{Answers: true}
	case class == nil:
		return notFound(claim)
	default:
		return refused(infrav1.ClassNotAcceptedReason, "HostClaimClass %q was made anew with another controller, %q: "+
			"delete the claim to have that one answer a new one", class.Name, class.Spec.ControllerName)
	}
}

// judgeUnanswered is the verdict of the fallback about a claim that nobody answers yet, of a class that is not its own.
func judgeUnanswered(claim *bmov1alpha1.HostClaim, class *hostclaimv1.HostClaimClass) Verdict {
	switch {
	case Name(claim) == "":
		return Verdict{Answers: true}
	case class == nil:
		return notFound(claim)
	case accepted(class) == nil:
		return refused(infrav1.ClassNotAcceptedReason, "No controller %q has accepted HostClaimClass %q: "+
			"have it installed, or delete the claim and create it with another class", class.Spec.ControllerName, class.Name)
	default:
		return Verdict{}
	}
}

func notFound(claim *bmov1alpha1.HostClaim) Verdict {
	return refused(infrav1.ClassNotFoundReason, "HostClaimClass %q does not exist: create it, "+
		"or delete the claim and create it with another class", Name(claim))
}

func refused(reason, format string, values ...any) Verdict {
	return Verdict{Answers: true, Reason: reason, Message: fmt.Sprintf(format, values...)}
}

// taken reports whether the controller has begun to answer the claim.
func (c Controller) taken(claim *bmov1alpha1.HostClaim) bool {
	_, marked := claim.Annotations[c.Mark]
	return slices.Contains(claim.Finalizers, c.Finalizer) || marked && !c.takenByOther(claim)
}

// takenByOther reports whether another controller answers the claim. One that was moved with its server is the hostclaim
// manager's.
func (c Controller) takenByOther(claim *bmov1alpha1.HostClaim) bool {
	if _, moved := claim.Annotations[infrav1.BoundClaimUIDAnnotation]; moved && c.Finalizer != infrav1.HostClaimFinalizer {
		return true
	}
	return slices.ContainsFunc(claim.Finalizers, func(finalizer string) bool {
		return strings.HasPrefix(finalizer, finalizerPrefix) && finalizer != c.Finalizer
	})
}

// judgeOwn is the verdict about a claim of a class of this controller.
func judgeOwn(class *hostclaimv1.HostClaimClass, namespace map[string]string) Verdict {
	if a := accepted(class); a != nil && a.Status == metav1.ConditionFalse {
		return refused(infrav1.ClassNotAcceptedReason, "HostClaimClass %q is not accepted: %s", class.Name, a.Message)
	}
	if !Permits(class, namespace) {
		return refused(infrav1.ClassNotPermittedReason, "HostClaimClass %q is not for this namespace: its namespaceSelector selects other labels. "+
			"Ask the infrastructure team, or delete the claim and create it with another class", class.Name)
	}
	return Verdict{Answers: true}
}

// accepted is what the controller of a class has reported about its present generation; nil if nothing.
func accepted(class *hostclaimv1.HostClaimClass) *metav1.Condition {
	condition := meta.FindStatusCondition(class.Status.Conditions, hostclaimv1.AcceptedCondition)
	if condition == nil || condition.ObservedGeneration != class.Generation {
		return nil
	}
	return condition
}

// Permits reports whether the claims of a namespace with these labels may use the class. A selector that cannot be
// understood permits none.
func Permits(class *hostclaimv1.HostClaimClass, namespace map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(class.Spec.NamespaceSelector) // nil selects nothing
	return err == nil && selector.Matches(labels.Set(namespace))
}

// Default returns the name of the class that claims without one get in a namespace with these labels; empty if there
// is none. Of several, it is the newest, as with StorageClasses.
func Default(classes []hostclaimv1.HostClaimClass, namespace map[string]string) string {
	candidates := slices.DeleteFunc(slices.Clone(classes), func(class hostclaimv1.HostClaimClass) bool {
		return class.Annotations[infrav1.DefaultClassAnnotation] != "true" || !class.DeletionTimestamp.IsZero() || !Permits(&class, namespace)
	})
	if len(candidates) == 0 {
		return ""
	}
	return slices.MinFunc(candidates, func(a, b hostclaimv1.HostClaimClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	}).Name
}

// Accept is the condition Accepted of a class whose parameters the controller has read; invalid is what is wrong
// with them, nil if nothing is.
func Accept(class *hostclaimv1.HostClaimClass, invalid error) metav1.Condition {
	accepted := metav1.Condition{
		Type: hostclaimv1.AcceptedCondition, Status: metav1.ConditionTrue, Reason: hostclaimv1.AcceptedReason,
		ObservedGeneration: class.Generation,
	}
	refuse := func(reason string, err error) {
		accepted.Status, accepted.Reason, accepted.Message = metav1.ConditionFalse, reason, text.Shorten(err.Error(), maxMessage)
	}
	if _, err := metav1.LabelSelectorAsSelector(class.Spec.NamespaceSelector); err != nil {
		refuse(hostclaimv1.InvalidNamespaceSelectorReason, fmt.Errorf("correct namespaceSelector: %w", err))
	}
	if invalid != nil {
		refuse(hostclaimv1.InvalidParametersReason, invalid)
	}
	return accepted
}

// maxMessage is how many bytes the message of a condition has at most.
const maxMessage = 1024

// Arguments are what a claim tells the controller of its class, beside the spec; nil if nothing.
func Arguments(claim *bmov1alpha1.HostClaim) (map[string]string, error) {
	written, found := claim.Annotations[infrav1.ClassArgumentsAnnotation]
	if !found || written == "" {
		return nil, nil //nolint:nilnil // there are none
	}
	if len(written) > MaxArguments {
		return nil, fmt.Errorf("annotation %s has %d bytes and at most %d are accepted: shorten it",
			infrav1.ClassArgumentsAnnotation, len(written), MaxArguments)
	}
	arguments := map[string]string{}
	if err := json.Unmarshal([]byte(written), &arguments); err != nil {
		return nil, fmt.Errorf("annotation %s is no JSON object of strings (%w): correct it, or remove it",
			infrav1.ClassArgumentsAnnotation, err)
	}
	return arguments, nil
}
