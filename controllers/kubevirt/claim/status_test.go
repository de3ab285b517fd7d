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

package claim

import (
	"errors"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	virtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/virtualmachine"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// newScope is a claim whose virtual machine has its disk, and runs from it.
func newScope(t *testing.T) *scope {
	t.Helper()
	p, err := virtualmachine.ParametersOf(&runtime.RawExtension{Raw: []byte(`{"instancetype":{"name":"small"},"rootDisk":{"size":"20Gi"}}`)})
	expect.NoError(t, err)
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "machine", UID: "11111111-2222-3333-4444-555555555555", Generation: 3},
		Spec:       bmov1alpha1.HostClaimSpec{PoweredOn: true, Image: &bmov1alpha1.Image{URL: "https://images.example.com/a"}},
	}
	s := &scope{claim: claim, vm: virtualmachine.New(claim, p), complete: true}
	expect.NoError(t, virtualmachine.Deploy(s.vm, claim, p))
	s.instance = &virtv1.VirtualMachineInstance{
		Spec: s.vm.Spec.Template.Spec, Status: virtv1.VirtualMachineInstanceStatus{Phase: virtv1.Running},
	}
	return s
}

func TestReport(t *testing.T) {
	const (
		associated, synchronized = bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition
		provisioned, ready       = bmov1alpha1.ProvisionedCondition, infrav1.ReadyCondition
		published                = infrav1.HardwareDataPublishedCondition
	)
	tests := map[string]struct {
		change func(*scope)
		want   map[string]string // "<reason>" where True, "!<reason>" where False
		on     bool
	}{
		"it runs": {
			change: func(*scope) {}, on: true,
			want: map[string]string{associated: "BareMetalHostAssociated", synchronized: "ConfigurationSynced", provisioned: "WithImage", ready: "WithImage"},
		},
		"the image is on its way": {
			change: func(s *scope) { s.instance, s.complete = nil, false },
			want:   map[string]string{synchronized: "ConfigurationSynced", provisioned: "!Provisioning", ready: "!Provisioning"},
		},
		"it has crashed, with its image on its disk": {
			change: func(s *scope) { s.instance.Status.Phase = virtv1.Failed },
			want:   map[string]string{provisioned: "WithImage", ready: "!NotReady"},
		},
		"it is off on purpose": {
			change: func(s *scope) { s.claim.Spec.PoweredOn, s.instance = false, nil },
			want:   map[string]string{provisioned: "WithImage", ready: "WithImage"},
		},
		"a Secret is missing": {
			change: func(s *scope) { s.sync = no("UserDataSecretSyncFailure", "create it") }, on: true,
			want: map[string]string{synchronized: "!UserDataSecretSyncFailure", provisioned: "WithImage", ready: "!UserDataSecretSyncFailure"},
		},
		"another image is asked for": {
			change: func(s *scope) {
				metav1.SetMetaDataAnnotation(&s.claim.ObjectMeta, infrav1.RebuildAnnotation, "again")
			}, on: true,
			want: map[string]string{provisioned: "!Rebuilding", ready: "!Rebuilding"},
		},
		"its hardware is not published": {
			change: func(s *scope) { s.publish = no("HardwareDataNameTaken", "delete it") }, on: true,
			want: map[string]string{associated: "BareMetalHostAssociated", published: "!HardwareDataNameTaken", synchronized: "!HardwareDataNameTaken", ready: "!HardwareDataNameTaken"},
		},
		"it is gone": {
			change: func(s *scope) {
				s.vm, s.instance, s.bind = nil, nil, no("MissingBareMetalHost", "delete the claim")
			},
			want: map[string]string{associated: "!MissingBareMetalHost", synchronized: "!MissingBareMetalHost", provisioned: "!MissingBareMetalHost", ready: "!MissingBareMetalHost"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			s.claim.Status.PoweredOn = true
			tt.change(s)
			report(s)
			got := map[string]string{}
			for kind := range tt.want {
				c := meta.FindStatusCondition(s.claim.Status.Conditions, kind)
				expect.Must(t, c != nil && c.ObservedGeneration == 3, "condition %s is %v", kind, c)
				got[kind] = c.Reason
				if c.Status != metav1.ConditionTrue {
					got[kind] = "!" + c.Reason
				}
			}
			expect.Equal(t, tt.want, got)
			expect.Equal(t, tt.on, s.claim.Status.PoweredOn)
		})
	}
}

// TestReportOfNothing reports a claim that goes without ever having had a virtual machine.
func TestReportOfNothing(t *testing.T) {
	s := newScope(t)
	s.vm, s.instance = nil, nil
	report(s)
	expect.Equal(t, bmov1alpha1.HostClaimStatus{}, s.claim.Status)
}

// TestRefusalsAreTold holds what the API server refuses to be said where it belongs, and at a length that is taken.
func TestRefusalsAreTold(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "virtualmachines"}, "a", errors.New(strings.Repeat("quota ", 10000)))
	var as *answer
	expect.That(t, errors.Is(told(&as, infrav1.BindRefusedReason, refused), refused), "the error is lost")
	expect.Equal(t, infrav1.BindRefusedReason, as.reason)
	expect.That(t, len(as.message) < 2*maxMessage, "the message has %d bytes", len(as.message))
	said := as
	_ = told(&as, infrav1.WriteRefusedReason, refused)
	expect.That(t, said == as, "the first word is lost")
	var none *answer
	_ = told(&none, infrav1.BindRefusedReason, errors.New("connection refused"))
	expect.That(t, none == nil, "an error of the network is said to be a refusal")
}
