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
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// other is a second controller of claims, which takes them on as the contract has it. It is a player: what it gives
// its claims is nothing that a model of servers could judge.
func other() hostclass.Controller {
	return hostclass.Controller{Name: "compute.example.com/machines", Finalizer: "hostclaim.metal3.io/machines"}
}

// sight is a claim with its class as the other controller has seen them.
type sight struct {
	claim *store.Version
	class *hostclaimv1.HostClaimClass
}

// classNames are the names that classes come and go under.
func (w *World) classNames() []string {
	return []string{w.config.Prefix + "large", w.config.Prefix + "small"}
}

// withClass gives a new claim a class, often. Where hosts stand beside their claims, it is about moves, of claims that
// have their hosts.
func (w *World) withClass(claim *bmov1alpha1.HostClaim) {
	seldom := 2
	if w.beside {
		seldom = 12
	}
	if w.features[Classed] && chance(w.choices, seldom) {
		metav1.SetMetaDataLabel(&claim.ObjectMeta, infrav1.ClassLabel, one(w.choices, w.classNames()))
	}
}

// editClass makes a class, of any controller, changes whom it is for, or deletes it. Another claim may have the class then,
// and one that is made anew may be another controller's.
func (w *World) editClass() bool {
	name := one(w.choices, w.classNames())
	v, found := w.pick(store.Classes, func(v *store.Version) bool { return v.Key.Name == name })
	switch {
	case !found:
		return w.makeClass(name)
	case chance(w.choices, 2):
		return w.remove(adminName, v)
	default:
		return edit(w, adminName, v, "", w.offer)
	}
}

func (w *World) makeClass(name string) bool {
	controllers := []string{hostclaimv1.BareMetalControllerName, other().Name, other().Name, "example.com/nobody"}
	class := &hostclaimv1.HostClaimClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       hostclaimv1.HostClaimClassSpec{ControllerName: one(w.choices, controllers)},
	}
	w.offer(class)
	v, ok := w.createTyped(store.Classes, class)
	if !ok || class.Spec.ControllerName != other().Name || chance(w.choices, 4) {
		return ok
	}
	return edit(w, "machines", v, "status", func(c *hostclaimv1.HostClaimClass) {
		accepted := other().Accept(c)
		accepted.LastTransitionTime = metav1.NewTime(w.clock.now)
		c.Status.Conditions = []metav1.Condition{accepted}
	})
}

// offer draws whom a class is for, and whether it is the default.
func (w *World) offer(class *hostclaimv1.HostClaimClass) {
	class.Spec.NamespaceSelector = &metav1.LabelSelector{}
	if chance(w.choices, 3) {
		class.Spec.NamespaceSelector.MatchLabels = map[string]string{tierLabel: "gold"}
	}
	if chance(w.choices, 3) {
		metav1.SetMetaDataAnnotation(&class.ObjectMeta, infrav1.DefaultClassAnnotation, "true")
	}
}

// otherWorks lets the other controller look at a claim, or act on what it has seen, which may be old.
func (w *World) otherWorks() bool {
	if w.seen.claim == nil || chance(w.choices, 3) {
		v, found := w.claim(func(*bmov1alpha1.HostClaim) bool { return true })
		if found {
			w.seen = sight{v, w.classOf(claimOf(v))}
		}
		return found
	}
	seen := w.seen
	w.seen = sight{}
	return w.otherActs(seen)
}

// otherActs takes a claim on, or lets one go that is deleted.
func (w *World) otherActs(seen sight) bool {
	before := claimOf(seen.claim)
	after := before.DeepCopy()
	verdict := other().Judge(before, seen.class, w.labelsOf(before.Namespace))
	switch {
	case !verdict.Answers:
		return false
	case !live(before):
		controllerutil.RemoveFinalizer(after, other().Finalizer)
	case verdict.Reason == "":
		controllerutil.AddFinalizer(after, other().Finalizer)
	}
	if len(after.Finalizers) == len(before.Finalizers) {
		return false
	}
	patch, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(after)
	if err != nil {
		w.fail("player", "%v", err)
		return false
	}
	done := w.patch("machines", seen.claim, "", patch)
	if done {
		w.count("claims of another controller")
	}
	return done
}

// otherEnds lets the other controller finish with a claim that is deleted.
func (w *World) otherEnds() bool {
	v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		return !live(claim) && controllerutil.ContainsFinalizer(claim, other().Finalizer)
	})
	return found && w.otherActs(sight{v, w.classOf(claimOf(v))})
}

// classOf is the class of a claim; nil if there is none.
func (w *World) classOf(claim *bmov1alpha1.HostClaim) *hostclaimv1.HostClaimClass {
	v, found := w.pick(store.Classes, func(v *store.Version) bool { return v.Key.Name == hostclass.Name(claim) })
	if !found {
		return nil
	}
	class, _ := v.Object().(*hostclaimv1.HostClaimClass)
	return class
}

func (w *World) labelsOf(namespace string) map[string]string {
	for _, v := range w.log.All(store.Namespaces) {
		if ns, ok := v.Object().(*corev1.Namespace); ok && ns.Name == namespace {
			return ns.Labels
		}
	}
	return nil
}

// observeControllers judges who has written a claim. One that lost its finalizer to a tenant, which the rules
// of admission do not let it, is any controller's.
func (w *World) observeControllers(e store.Event) {
	if e.After == nil || e.Before == nil || w.lives[e.After.UID].stripped {
		return
	}
	before, after := claimOf(e.Before), claimOf(e.After)
	ours, theirs := infrav1.HostClaimFinalizer, other().Finalizer
	if controllerutil.ContainsFinalizer(after, ours) && controllerutil.ContainsFinalizer(after, theirs) {
		w.fail(OneController, "claim %s was taken on by two controllers", e.Key)
	}
	intended := binding.RecordOf(before) == binding.Intended // which the manager takes back
	if w.writer != nil && controllerutil.ContainsFinalizer(before, theirs) && !intended {
		w.fail(OneController, "claim %s is another controller's, and the hostclaim manager wrote it", e.Key)
	}
}

// judgeClass judges, at rest, a claim without a host by its class, and reports whether there is nothing else to judge.
func (w *World) judgeClass(v *store.Version) bool {
	claim := claimOf(v)
	verdict := hostclass.BareMetal().Judge(claim, w.classOf(claim), w.labelsOf(claim.Namespace))
	reason := associated(claim).Reason
	switch {
	case !verdict.Answers:
		if binding.RecordOf(claim) == binding.Intended {
			w.fail(StatusIsTrue, "claim %s is another controller's, and its status names a host that it was about to get", v.Key)
		}
		return true
	case verdict.Reason != "" && reason != verdict.Reason && reason != infrav1.HostNotMovedReason && binding.RecordOf(claim) == binding.Unrecorded:
		w.fail(StatusIsTrue, "claim %s waits for reason %q instead of %q", v.Key, reason, verdict.Reason)
	case verdict.Reason == "" && (strings.HasPrefix(reason, "Class") || reason == infrav1.AnsweredByOtherReason):
		w.fail(StatusIsTrue, "claim %s waits for reason %q, and its class permits it", v.Key, reason)
	}
	return verdict.Reason != ""
}
