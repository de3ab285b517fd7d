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
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// finalizerPrefix begins the finalizer of every controller of claims.
const finalizerPrefix = "hostclaim.metal3.io/"

// MaxArguments is how many characters the arguments of a claim may have. The API server refuses more where the policy
// claim-class is installed.
const MaxArguments = 8192

// Controller is a controller of HostClaims.
type Controller struct {
	// Name is the controllerName of its classes.
	Name string
	// Finalizer is on the claims that it answers. It begins with hostclaim.metal3.io/.
	Finalizer string
	// Check returns what is wrong with the parameters of a class, nil if nothing is.
	Check func(parameters *runtime.RawExtension) error
}

// BareMetal is the hostclaim manager. It also answers claims without a class, and reports those that no controller
// answers.
func BareMetal() Controller {
	return Controller{Name: hostclaimv1.BareMetalControllerName, Finalizer: infrav1.HostClaimFinalizer, Check: noParameters}
}

func (c Controller) isBareMetal() bool { return c.Name == hostclaimv1.BareMetalControllerName }

var errParameters = errors.New("classes of servers take no parameters: remove spec.parameters, and select servers by hostSelector of the claims")

func noParameters(parameters *runtime.RawExtension) error {
	if parameters == nil || string(parameters.Raw) == "{}" {
		return nil
	}
	return errParameters
}

// Verdict is what a controller makes of a claim.
type Verdict struct {
	// Answers reports whether the claim is this controller's: to answer, or to report why no controller does.
	Answers bool
	// Reason and Message are why the claim may get nothing; empty if it may. What it has, it keeps.
	Reason, Message string
}

// Answered reports whether a controller has begun to answer the claim, so that its class is fixed.
func Answered(claim *bmov1alpha1.HostClaim) bool {
	return marked(claim) || slices.ContainsFunc(claim.Finalizers, ofController)
}

func ofController(finalizer string) bool { return strings.HasPrefix(finalizer, finalizerPrefix) }

// marked reports whether the claim is the hostclaim manager's, of which a restore may have left the finalizer out.
func marked(claim *bmov1alpha1.HostClaim) bool {
	return metav1.HasAnnotation(claim.ObjectMeta, infrav1.BoundClaimUIDAnnotation)
}

// Name is the name of the class of a claim; empty if it has none.
func Name(claim *bmov1alpha1.HostClaim) string { return claim.Labels[infrav1.ClassLabel] }

// Judge returns the verdict about a claim. Class is the one that the claim names, nil if that does not exist;
// namespace are the labels of the namespace of the claim.
func (c Controller) Judge(claim *bmov1alpha1.HostClaim, class *hostclaimv1.HostClaimClass, namespace map[string]string) Verdict {
	other, taken := c.takenByOther(claim), c.Holds(claim)
	switch {
	case other && !taken:
		return Verdict{}
	case other:
		return refused(infrav1.AnsweredByOtherReason, "The claim carries the finalizers or marks of two controllers, of which "+
			"each keeps what it has given: delete the claim, and create another one")
	case Name(claim) != "" && class != nil && class.Spec.ControllerName == c.Name:
		return c.judgeOwn(class, namespace)
	case taken:
		return c.judgeTaken(claim, class)
	case c.isBareMetal():
		return judgeUnanswered(claim, class)
	default:
		return Verdict{}
	}
}

// judgeOwn is the verdict about a claim of a class of this controller. It looks at the class itself, since what the
// controller has reported of it may be older.
func (c Controller) judgeOwn(class *hostclaimv1.HostClaimClass, namespace map[string]string) Verdict {
	if accepted := c.Accept(class); accepted.Status == metav1.ConditionFalse {
		return refused(infrav1.ClassNotAcceptedReason, "HostClaimClass %q is not accepted: %s", class.Name, accepted.Message)
	}
	if !Permits(class, namespace) {
		return refused(infrav1.ClassNotPermittedReason, "HostClaimClass %q is not for this namespace: its namespaceSelector selects other labels. "+
			"Ask the infrastructure team, or name another class", class.Name)
	}
	return Verdict{Answers: true}
}

// judgeTaken is the verdict about a claim that the controller answers, of a class that is not its own.
func (c Controller) judgeTaken(claim *bmov1alpha1.HostClaim, class *hostclaimv1.HostClaimClass) Verdict {
	switch {
	case Name(claim) == "" && c.isBareMetal():
		return Verdict{Answers: true}
	case class == nil:
		return notFound(claim)
	default:
		return refused(infrav1.AnsweredByOtherReason, "HostClaimClass %q was made anew with another controller, %q: "+
			"delete the claim to have that one answer a new one", class.Name, class.Spec.ControllerName)
	}
}

// judgeUnanswered is the verdict of the hostclaim manager about a claim that no controller answers yet, of a
// class that is not its own.
func judgeUnanswered(claim *bmov1alpha1.HostClaim, class *hostclaimv1.HostClaimClass) Verdict {
	switch {
	case Name(claim) == "":
		return Verdict{Answers: true}
	case class == nil:
		return notFound(claim)
	case accepted(class) == nil:
		return refused(infrav1.ClassNotAcceptedReason, "No controller %q has accepted HostClaimClass %q: "+
			"have it installed, or name another class", class.Spec.ControllerName, class.Name)
	default:
		return Verdict{}
	}
}

func notFound(claim *bmov1alpha1.HostClaim) Verdict {
	return refused(infrav1.ClassNotFoundReason, "HostClaimClass %q does not exist: create it, or name another class in a new claim", Name(claim))
}

func refused(reason, format string, values ...any) Verdict {
	return Verdict{Answers: true, Reason: reason, Message: fmt.Sprintf(format, values...)}
}

// Holds reports whether the controller has begun to answer the claim.
func (c Controller) Holds(claim *bmov1alpha1.HostClaim) bool {
	return slices.Contains(claim.Finalizers, c.Finalizer) || c.isBareMetal() && marked(claim) && !c.takenByOther(claim)
}

// takenByOther reports whether another controller answers the claim.
func (c Controller) takenByOther(claim *bmov1alpha1.HostClaim) bool {
	return marked(claim) && !c.isBareMetal() || slices.ContainsFunc(claim.Finalizers, func(finalizer string) bool {
		return ofController(finalizer) && finalizer != c.Finalizer
	})
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

// Accept is the condition Accepted of a class of the controller.
func (c Controller) Accept(class *hostclaimv1.HostClaimClass) metav1.Condition {
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
	if c.Check == nil {
		return accepted
	}
	if err := c.Check(class.Spec.Parameters); err != nil {
		refuse(hostclaimv1.InvalidParametersReason, err)
	}
	return accepted
}

// maxMessage is how many bytes the message of a condition has at most.
const maxMessage = 1024

// HeldOff reports whether an annotation on a claim, or on a host, keeps the machine off until it is taken away, as a
// remediation does: https://book.metal3.io/bmo/reboot_annotation.
func HeldOff(of metav1.Object) bool {
	for key := range of.GetAnnotations() {
		if strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix+"/") {
			return true
		}
	}
	return false
}

// Arguments are what a claim tells the controller of its class, beside the spec; nil if nothing.
func Arguments(claim *bmov1alpha1.HostClaim) (map[string]string, error) {
	written, found := claim.Annotations[infrav1.ClassArgumentsAnnotation]
	if !found || written == "" {
		return nil, nil //nolint:nilnil // there are none
	}
	if size := utf8.RuneCountInString(written); size > MaxArguments {
		return nil, fmt.Errorf("annotation %s has %d characters and at most %d are accepted: shorten it",
			infrav1.ClassArgumentsAnnotation, size, MaxArguments)
	}
	arguments := map[string]string{}
	if err := json.Unmarshal([]byte(written), &arguments); err != nil {
		return nil, fmt.Errorf("annotation %s is no JSON object of strings (%w): correct it, or remove it",
			infrav1.ClassArgumentsAnnotation, err)
	}
	return arguments, nil
}
