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

package hostclass

import (
	"errors"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// machines answers classes of virtual machines; the hostclaim manager is the other controller.
func machines() Controller {
	return Controller{
		Name: "compute.example.com/machines", Finalizer: "hostclaim.metal3.io/machines",
		Check: func(parameters *runtime.RawExtension) error {
			if parameters != nil {
				return errors.New("parameter size is unknown")
			}
			return nil
		},
	}
}

func claim(class string, finalizers ...string) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Finalizers: finalizers}}
	if class != "" {
		c.Labels = map[string]string{"hostclaim.metal3.io/class": class}
	}
	return c
}

// moved is a claim that had a server in another cluster.
func moved(class string, finalizers ...string) *bmov1alpha1.HostClaim {
	c := claim(class, finalizers...)
	c.Annotations = map[string]string{"hostclaim.metal3.io/bound-claim-uid": "another"}
	return c
}

func class(controller string, changes ...func(*hostclaimv1.HostClaimClass)) *hostclaimv1.HostClaimClass {
	c := &hostclaimv1.HostClaimClass{
		ObjectMeta: metav1.ObjectMeta{Name: "large", Generation: 2},
		Spec:       hostclaimv1.HostClaimClassSpec{ControllerName: controller, NamespaceSelector: &metav1.LabelSelector{}},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func reported(status metav1.ConditionStatus, generation int64) func(*hostclaimv1.HostClaimClass) {
	return func(c *hostclaimv1.HostClaimClass) {
		c.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: status, Message: "parameter size is unknown", ObservedGeneration: generation}}
	}
}

func sized(c *hostclaimv1.HostClaimClass) {
	c.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size":"large"}`)}
}

func gold(c *hostclaimv1.HostClaimClass) {
	c.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
}

// TestJudge asks both controllers about each claim.
func TestJudge(t *testing.T) {
	const ours, theirs = "hostclaim.metal3.io/baremetal", "compute.example.com/machines"
	const ourFinalizer, theirFinalizer = "hostclaim.metal3.io/finalizer", "hostclaim.metal3.io/machines"
	leaves, answers := Verdict{}, Verdict{Answers: true}
	refuses := func(reason, says string) Verdict { return Verdict{Answers: true, Reason: reason, Message: says} }
	tests := map[string]struct {
		claim           *bmov1alpha1.HostClaim
		class           *hostclaimv1.HostClaimClass
		hosts, machines Verdict // the message is a part of the one that is given
	}{
		"without a class":                     {claim(""), nil, answers, leaves},
		"without a class, answered by others": {claim("", theirFinalizer), nil, leaves, refuses("ClassNotFound", "does not exist")},
		"with a finalizer of neither":         {claim("", "example.com/finalizer"), nil, answers, leaves},
		"of a class that does not exist":      {claim("large"), nil, refuses("ClassNotFound", `HostClaimClass "large" does not exist: create it`), leaves},
		"of a class that does not exist any more": {
			claim("large", theirFinalizer), nil, leaves, refuses("ClassNotFound", "does not exist"),
		},
		"of a class of servers":               {claim("large"), class(ours), answers, leaves},
		"of a class that nobody has accepted": {claim("large"), class(theirs), refuses("ClassNotAccepted", `No controller "compute.example.com/machines"`), answers},
		"of a class that was accepted before": {claim("large"), class(theirs, reported("True", 1)), refuses("ClassNotAccepted", "have it installed"), answers},
		"of a class of machines":              {claim("large"), class(theirs, reported("True", 2)), leaves, answers},
		"of a class that its controller refuses": {
			claim("large"), class(theirs, sized, reported("False", 2)), leaves, refuses("ClassNotAccepted", "is not accepted: parameter size is unknown"),
		},
		"of a class that its controller has not looked at again": {
			claim("large"), class(ours, sized, reported("True", 1)), refuses("ClassNotAccepted", "classes of servers take no parameters"), leaves,
		},
		"of a class for other namespaces": {claim("large"), class(ours, gold), refuses("ClassNotPermitted", "is not for this namespace"), leaves},
		"of a class made anew with another controller": {
			claim("large", ourFinalizer), class(theirs, reported("True", 2)), refuses("AnsweredByOther", "was made anew with another controller"), leaves,
		},
		"that was moved with its server, and whose class is another controller's now": {
			moved("large"), class(theirs, reported("True", 2)), refuses("AnsweredByOther", "was made anew with another controller"), leaves,
		},
		"with the finalizers of both, of which one is forged": {
			claim("large", theirFinalizer, ourFinalizer), class(theirs, reported("True", 2)),
			refuses("AnsweredByOther", "of two controllers"), refuses("AnsweredByOther", "of two controllers"),
		},
		"answered by others, and with a forged mark of ours": {
			moved("large", theirFinalizer), nil, leaves, refuses("AnsweredByOther", "of two controllers"),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for name, want := range map[string]Verdict{ours: tt.hosts, theirs: tt.machines} {
				controller := BareMetal()
				if name == theirs {
					controller = machines()
				}
				got := controller.Judge(tt.claim, tt.class, map[string]string{"tier": "silver"})
				expect.That(t, got.Answers == want.Answers && got.Reason == want.Reason && strings.Contains(got.Message, want.Message) &&
					(got.Message == "") == (want.Message == ""), "%s: %+v, want %+v", name, got, want)
			}
		})
	}
}

// However classes come and go, at most one controller takes a claim on: the one without the finalizer of the other.
func TestOneControllerTakesAClaimOn(t *testing.T) {
	for _, finalizers := range [][]string{nil, {"hostclaim.metal3.io/finalizer"}, {"hostclaim.metal3.io/machines"}, {"hostclaim.metal3.io/machines", "hostclaim.metal3.io/finalizer"}} {
		for _, named := range []string{"", "large"} {
			for _, c := range []*hostclaimv1.HostClaimClass{nil, class("hostclaim.metal3.io/baremetal"), class("compute.example.com/machines"), class("example.com/nobody")} {
				takers := 0
				for _, controller := range []Controller{BareMetal(), machines()} {
					if v := controller.Judge(claim(named, finalizers...), c, nil); v.Answers && v.Reason == "" {
						takers++
					}
				}
				expect.That(t, takers <= 1, "%d controllers take on a claim of class %q, %v, with %v", takers, named, c, finalizers)
			}
		}
	}
}

func TestDefault(t *testing.T) {
	of := func(name, value string, minute int, changes ...func(*hostclaimv1.HostClaimClass)) hostclaimv1.HostClaimClass {
		c := class("example.com/c", changes...)
		c.Name, c.Annotations = name, map[string]string{"hostclaim.metal3.io/is-default-class": value}
		c.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC))
		return *c
	}
	going := func(c *hostclaimv1.HostClaimClass) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	tests := map[string]struct {
		classes []hostclaimv1.HostClaimClass
		want    string
	}{
		"none":                      {nil, ""},
		"one that says so":          {[]hostclaimv1.HostClaimClass{of("a", "true", 0), of("b", "false", 1)}, "a"},
		"the newest":                {[]hostclaimv1.HostClaimClass{of("a", "true", 0), of("b", "true", 1)}, "b"},
		"the first by name":         {[]hostclaimv1.HostClaimClass{of("b", "true", 0), of("a", "true", 0)}, "a"},
		"none for other namespaces": {[]hostclaimv1.HostClaimClass{of("a", "true", 0, gold)}, ""},
		"none that goes":            {[]hostclaimv1.HostClaimClass{of("a", "true", 0, going)}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, Default(tt.classes, nil))
		})
	}
}

func TestArguments(t *testing.T) {
	tests := map[string]struct {
		written string
		want    map[string]string
		says    string
	}{
		"none":             {"", nil, ""},
		"some":             {`{"size":"large"}`, map[string]string{"size": "large"}, ""},
		"no object":        {"large", nil, "is no JSON object of strings"},
		"no strings":       {`{"cores":4}`, nil, "is no JSON object of strings"},
		"more than fit in": {`{"size":"` + strings.Repeat("x", 1_000_000) + `"}`, nil, "has 1000011 characters and at most 8192 are accepted: shorten it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := claim("large")
			if tt.written != "" {
				c.Annotations = map[string]string{infrav1.ClassArgumentsAnnotation: tt.written}
			}
			got, err := Arguments(c)
			expect.Equal(t, tt.want, got)
			expect.That(t, (err == nil) == (tt.says == "") && (err == nil || strings.Contains(err.Error(), tt.says)), "%v", err)
		})
	}
}

func TestAccept(t *testing.T) {
	nonsense := func(c *hostclaimv1.HostClaimClass) {
		c.Spec.NamespaceSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
	}
	tests := map[string]struct {
		class   *hostclaimv1.HostClaimClass
		invalid error
		want    string
	}{
		"a class":                   {class("example.com/c"), nil, "True/Accepted"},
		"one with wrong parameters": {class("example.com/c"), errors.New(strings.Repeat("x", 2000)), "False/InvalidParameters"},
		"one with a wrong selector": {class("example.com/c", nonsense), nil, "False/InvalidNamespaceSelector"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Controller{Check: func(*runtime.RawExtension) error { return tt.invalid }}.Accept(tt.class)
			expect.Equal(t, tt.want, string(got.Status)+"/"+got.Reason)
			expect.That(t, got.ObservedGeneration == 2 && len(got.Message) <= 1100, "of generation %d with %d bytes", got.ObservedGeneration, len(got.Message))
			expect.That(t, (got.Message == "") == (got.Status == "True"), "message %q", got.Message)
		})
	}
}
