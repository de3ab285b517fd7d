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

package hostclaim

import (
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// otherController answers claims with something else than servers, and keeps them by its finalizer.
const (
	otherController = "compute.example.com/machines"
	otherFinalizer  = "hostclaim.metal3.io/machines"
)

// class makes a class for the tenant, whose namespace names it: classes stand in no namespace.
func (w *world) class(controller string, changes ...func(*hostclaimv1.HostClaimClass)) *hostclaimv1.HostClaimClass {
	w.T.Helper()
	class := &hostclaimv1.HostClaimClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.tenant + "-class"},
		Spec:       hostclaimv1.HostClaimClassSpec{ControllerName: controller, NamespaceSelector: named(w.tenant)},
	}
	for _, change := range changes {
		change(class)
	}
	w.OK(w.Create(w.Ctx, class))
	w.T.Cleanup(func() {
		if err := client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Ctx), class)); err != nil {
			w.T.Errorf("delete the class: %v", err)
		}
	})
	return class
}

// named selects the namespace of a name.
func named(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

func isDefault(class *hostclaimv1.HostClaimClass) {
	class.Annotations = map[string]string{"hostclaim.metal3.io/is-default-class": "true"}
}

// accept does as the controller of a class does that is not ours.
func (w *world) accept(class *hostclaimv1.HostClaimClass) {
	w.T.Helper()
	before := class.DeepCopy()
	meta.SetStatusCondition(&class.Status.Conditions, metav1.Condition{
		Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: class.Generation,
	})
	w.OK(w.Status().Patch(w.Ctx, class, client.MergeFrom(before)))
}

// ofClass names the class of the tenant.
func (w *world) ofClass(c *bmov1alpha1.HostClaim) {
	metav1.SetMetaDataLabel(&c.ObjectMeta, "hostclaim.metal3.io/class", w.tenant+"-class")
}

func TestClaimIsLeftToTheControllerOfItsClass(t *testing.T) {
	w := newWorld(t).withHosts("host-0")
	w.manager()
	w.claim("machine", w.ofClass)
	w.expect("machine", associated, "False/ClassNotFound", "does not exist: create it, or name another class")
	class := w.class(otherController)
	w.expect("machine", associated, "False/ClassNotAccepted", `No controller "compute.example.com/machines" has accepted`)
	w.G.Expect(w.readClaim("machine").Finalizers).To(gomega.BeEmpty(), "the other controller may come")

	w.accept(class)
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{otherFinalizer} })
	w.SetStatus(w.readClaim("machine"), bmov1alpha1.HostClaimStatus{Conditions: []metav1.Condition{{
		Type: associated, Status: metav1.ConditionTrue, Reason: "Answered", LastTransitionTime: metav1.Now(),
	}}})
	answered := w.readClaim("machine")
	for _, change := range []func(){
		func() { w.OK(w.Delete(w.Ctx, class)) },
		func() {
			harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false })
		},
		func() { w.OK(w.Delete(w.Ctx, w.readClaim("machine"))) },
	} {
		change()
		w.G.Consistently(func(g gomega.Gomega) {
			claim := w.readClaim("machine")
			g.Expect(claim.Status).To(gomega.Equal(answered.Status))
			g.Expect(claim.Finalizers).To(gomega.Equal([]string{otherFinalizer}))
			g.Expect(w.readHost("host-0").Spec.ConsumerRef).To(gomega.BeNil())
		}).Should(gomega.Succeed())
	}
}

func TestClaimKeepsItsServerWhateverBecomesOfItsClass(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0").withBoot()
	w.manager()
	class := w.class(hostclaimv1.BareMetalControllerName)
	w.claim("machine", withImage("boot"), w.ofClass)
	w.expect("machine", "Ready", "True/Provisioned")
	w.G.Eventually(func() string {
		w.OK(w.Get(w.Ctx, client.ObjectKeyFromObject(class), class))
		return harness.Condition(class.Status.Conditions, "Accepted")
	}).Should(gomega.Equal("True/Accepted"))

	w.OK(w.Delete(w.Ctx, class))
	w.says(synchronized, "does not exist")
	w.accept(w.class(otherController))
	w.says(synchronized, "was made anew with another controller")
	w.expect("machine", "Ready", "True/Provisioned")
	w.givenBack("host-0")
}

func TestClaimWaitsUntilItsClassPermitsIt(t *testing.T) {
	tests := map[string]struct {
		class func(*hostclaimv1.HostClaimClass)
		claim func(*bmov1alpha1.HostClaim)
		mend  func(w *world)
		want  string
		says  string
	}{
		"with parameters that servers do not take": {
			class: func(c *hostclaimv1.HostClaimClass) {
				c.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size":"large"}`)}
			},
			mend: func(w *world) { w.editClass(func(c *hostclaimv1.HostClaimClass) { c.Spec.Parameters = nil }) },
			want: "False/ClassNotAccepted", says: "classes of servers take no parameters: remove spec.parameters",
		},
		"with arguments that servers do not take": {
			claim: func(c *bmov1alpha1.HostClaim) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, "hostclaim.metal3.io/class-arguments", `{"size":"large"}`)
			},
			mend: func(w *world) {
				harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Annotations = nil })
			},
			want: "False/InvalidClassArguments", says: "classes of servers take no arguments",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).withHosts("host-0")
			w.manager()
			w.class(hostclaimv1.BareMetalControllerName, func(c *hostclaimv1.HostClaimClass) {
				if tt.class != nil {
					tt.class(c)
				}
			})
			w.claim("machine", w.ofClass, func(c *bmov1alpha1.HostClaim) {
				if tt.claim != nil {
					tt.claim(c)
				}
			})
			w.expect("machine", associated, tt.want, tt.says)
			w.G.Expect(w.readHost("host-0").Spec.ConsumerRef).To(gomega.BeNil())
			tt.mend(w)
			w.expectBound("machine")
		})
	}
}

// editClass changes the class of the tenant.
func (w *world) editClass(change func(*hostclaimv1.HostClaimClass)) {
	w.T.Helper()
	class := &hostclaimv1.HostClaimClass{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Name: w.tenant + "-class"}, class))
	harness.Change(w.Story, class, change)
}

// The default class is for claims that are made from then on.
func TestClaimGetsTheDefaultClass(t *testing.T) {
	w := newWorld(t).withHosts("host-0", "host-1")
	w.manager()
	w.claim("before")
	w.expectBound("before")
	w.accept(w.class(otherController, isDefault))
	w.claim("after")
	w.G.Eventually(func() map[string]string { return w.readClaim("after").Labels }).
		Should(gomega.HaveKeyWithValue("hostclaim.metal3.io/class", w.tenant+"-class"))
	w.G.Consistently(func(g gomega.Gomega) {
		g.Expect(w.readClaim("after").Finalizers).To(gomega.BeEmpty())
		g.Expect(w.readClaim("before").Labels).NotTo(gomega.HaveKey("hostclaim.metal3.io/class"))
	}).Should(gomega.Succeed())
}
