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

package webhooks

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestDefaultCluster(t *testing.T) {
	tests := map[string]struct{ given, want infrav1.Metal3ClusterSpec }{
		"a host without a port gets the usual one": {
			given: infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1"}},
			want: infrav1.Metal3ClusterSpec{
				ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}, CloudProviderEnabled: ptr.To(false),
			},
		},
		"what is given stays": {
			given: infrav1.Metal3ClusterSpec{
				ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1", Port: 443}, CloudProviderEnabled: ptr.To(true),
			},
			want: infrav1.Metal3ClusterSpec{
				ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1", Port: 443}, CloudProviderEnabled: ptr.To(true),
			},
		},
		"an endpoint that a control plane provider sets stays empty": {
			want: infrav1.Metal3ClusterSpec{CloudProviderEnabled: ptr.To(false)},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := &infrav1.Metal3Cluster{Spec: tc.given}
			expect.NoError(t, (Cluster{}).Default(t.Context(), cluster))
			expect.Equal(t, tc.want, cluster.Spec)
		})
	}
}

func TestDataTemplate(t *testing.T) {
	good := &infrav1.Metal3DataTemplate{Spec: infrav1.Metal3DataTemplateSpec{ClusterName: ptr.To("a")}}
	bad := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{
		Networks: &infrav1.NetworkDataNetwork{IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "a", Link: "eth0"}}},
	}}}
	dying := bad.DeepCopy()
	dying.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	tests := map[string]struct {
		old, template *infrav1.Metal3DataTemplate
		warns         int
		refused       bool
	}{
		"creating a good one warns of what is out of use":               {template: good, warns: 1},
		"creating a bad one is refused":                                 {template: bad, refused: true},
		"making one bad is refused":                                     {old: good, template: bad, refused: true},
		"one that was bad before may get a label":                       {old: bad, template: bad},
		"one that is being deleted may lose its finalizer, however bad": {old: good, template: dying},
	}
	v := dataTemplateValidator()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validate := func() (admission.Warnings, error) { return v.ValidateCreate(t.Context(), tc.template) }
			if tc.old != nil {
				validate = func() (admission.Warnings, error) { return v.ValidateUpdate(t.Context(), tc.old, tc.template) }
			}
			warnings, err := validate()
			expect.That(t, apierrors.IsInvalid(err) == tc.refused, "error is %v, refused should be %v", err, tc.refused)
			expect.That(t, len(warnings) == tc.warns, "warnings are %v, want %d", warnings, tc.warns)
		})
	}
	if _, err := v.ValidateDelete(t.Context(), bad); err != nil {
		t.Errorf("deletion is refused: %v", err)
	}
}

// What was stored before a rule existed holds up no change of something else. The rules for new
// objects and changes are tested in test/api.
func TestOldFaultsHoldNothingUp(t *testing.T) {
	elsewhere := &infrav1.Metal3ObjectRef{Name: "x", Namespace: "elsewhere"}
	spec := infrav1.Metal3MachineSpec{
		DataTemplate: elsewhere, UserData: &corev1.SecretReference{Name: "x", Namespace: "elsewhere"},
		HostSelector: &infrav1.HostSelector{MatchLabels: map[string]string{"no key": ""}},
	}
	broken := clusterv1.ObjectMeta{Labels: map[string]string{"no key": ""}}
	machine := &infrav1.Metal3Machine{Spec: spec}
	provided := machine.DeepCopy()
	provided.Spec.ProviderID = "metal3://a/b/c"
	template := &infrav1.Metal3MachineTemplate{Spec: infrav1.Metal3MachineTemplateSpec{
		Template: infrav1.Metal3MachineTemplateResource{ObjectMeta: broken, Spec: spec},
	}}
	reused := template.DeepCopy()
	reused.Spec.NodeReuse = ptr.To(true)
	clusters := &infrav1.Metal3ClusterTemplate{Spec: infrav1.Metal3ClusterTemplateSpec{
		Template: infrav1.Metal3ClusterTemplateResource{ObjectMeta: broken},
	}}
	moved := clusters.DeepCopy()
	moved.Spec.Template.Spec.ControlPlaneEndpoint.Host = "h"
	labeled := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{infrav1.LabelSyncPrefixesAnnotation: "node-role.kubernetes.io"},
	}}
	reached := labeled.DeepCopy()
	reached.Spec.ControlPlaneEndpoint.Host = "h"
	claim := &infrav1.Metal3DataClaim{Spec: infrav1.Metal3DataClaimSpec{Template: elsewhere}}
	tests := map[string]struct {
		created, changed func() (admission.Warnings, error)
	}{
		"a machine gets its provider ID": {
			created: func() (admission.Warnings, error) { return machineValidator().ValidateCreate(t.Context(), machine) },
			changed: func() (admission.Warnings, error) {
				return machineValidator().ValidateUpdate(t.Context(), machine, provided)
			},
		},
		"a template of machines has node reuse switched on": {
			created: func() (admission.Warnings, error) {
				return machineTemplateValidator().ValidateCreate(t.Context(), template)
			},
			changed: func() (admission.Warnings, error) {
				return machineTemplateValidator().ValidateUpdate(t.Context(), template, reused)
			},
		},
		"a template of clusters gets an endpoint": {
			created: func() (admission.Warnings, error) {
				return clusterTemplateValidator().ValidateCreate(t.Context(), clusters)
			},
			changed: func() (admission.Warnings, error) {
				return clusterTemplateValidator().ValidateUpdate(t.Context(), clusters, moved)
			},
		},
		"a cluster gets an endpoint": {
			created: func() (admission.Warnings, error) {
				return clusterValidator(nil).ValidateCreate(t.Context(), labeled)
			},
			changed: func() (admission.Warnings, error) {
				return clusterValidator(nil).ValidateUpdate(t.Context(), labeled, reached)
			},
		},
		"a claim gets a finalizer": {
			created: func() (admission.Warnings, error) { return dataClaimValidator().ValidateCreate(t.Context(), claim) },
			changed: func() (admission.Warnings, error) {
				return dataClaimValidator().ValidateUpdate(t.Context(), claim, claim)
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.created(); !apierrors.IsInvalid(err) {
				t.Errorf("a new one is answered with %v, want it refused", err)
			}
			if _, err := tc.changed(); err != nil {
				t.Errorf("the change is refused: %v", err)
			}
		})
	}
}

// A field with less effect than it seems has a warning, and so has a secret of another
// namespace in a template, since machines of this namespace would be refused.
func TestWarningsOfMachineTemplates(t *testing.T) {
	template := &infrav1.Metal3MachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant"}}
	template.Spec.Template.Spec = infrav1.Metal3MachineSpec{
		UserData: &corev1.SecretReference{Name: "x", Namespace: "tenant"},
		MetaData: &corev1.SecretReference{Name: "x", Namespace: "elsewhere"},

		AutomatedCleaningMode: infrav1.CleaningModeDisabled,
	}
	got, err := machineTemplateValidator().ValidateCreate(t.Context(), template)
	const uncleaned = `is "disabled", which counts only while the host is kept for the next machine, by nodeReuse and where policy permits it: ` +
		"a host that is given back is cleaned, since its next tenant may be another"
	want := admission.Warnings{
		"spec.template.spec.automatedCleaningMode " + uncleaned,
		"spec.template.spec.userData has no effect, as with CAPM3: the server gets the bootstrap data of the Machine",
		`spec.template.spec.metaData.namespace is "elsewhere": ` +
			"machines of any other namespace, such as this one, are refused; leave it out",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, warnings (-want +got):\n%s", err, diff)
	}
	machine := &infrav1.Metal3Machine{Spec: infrav1.Metal3MachineSpec{AutomatedCleaningMode: infrav1.CleaningModeDisabled}}
	got, err = machineValidator().ValidateCreate(t.Context(), machine)
	if diff := cmp.Diff(admission.Warnings{"spec.automatedCleaningMode " + uncleaned}, got); diff != "" || err != nil {
		t.Errorf("error %v, warnings of a machine (-want +got):\n%s", err, diff)
	}
}
