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
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

type change = func(*bmov1alpha1.HostClaim)

func with(conditionType string, status metav1.ConditionStatus, reason, message string) change {
	return func(c *bmov1alpha1.HostClaim) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: c.Generation,
		})
	}
}

func toHost(c *bmov1alpha1.HostClaim) {
	c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"}
}

func withImage(c *bmov1alpha1.HostClaim) {
	c.Generation = 2
	c.Spec.PoweredOn = true
	c.Spec.Image = &bmov1alpha1.Image{URL: "http://x/i"}
	c.Spec.UserData = &corev1.SecretReference{Name: "boot"}
}

func TestRead(t *testing.T) {
	associated := with("Associated", metav1.ConditionTrue, "BareMetalHostAssociated", "")
	deployment := &Deployment{Image: &bmov1alpha1.Image{URL: "http://x/i"}, UserData: "boot"}
	tests := map[string]struct {
		given []change
		want  State
	}{
		"a new claim is unbound": {
			want: State{Phase: Unbound, Name: "a-cp-1"},
		},
		"an unbound claim explains itself": {
			given: []change{with("Associated", metav1.ConditionFalse, "NoBareMetalHost", "8 hosts seen: 8 in use")},
			want:  State{Phase: Unbound, Name: "a-cp-1", Reason: "NoBareMetalHost", Message: "8 hosts seen: 8 in use"},
		},
		"a claim that is binding is unbound, even if it names a host": {
			given: []change{toHost, with("Associated", metav1.ConditionUnknown, "Binding", "Binding host-1")},
			want:  State{Phase: Unbound, Name: "a-cp-1", Binding: true, Reason: "Binding", Message: "Binding host-1"},
		},
		"a claim that lost its host and is about to have it again is binding": {
			given: []change{toHost, with("Associated", metav1.ConditionUnknown, "MissingBareMetalHost", "m")},
			want:  State{Phase: Unbound, Name: "a-cp-1", Binding: true, Reason: "MissingBareMetalHost", Message: "m"},
		},
		"a claim whose host was restored and is about to be bound again is binding": {
			given: []change{toHost, with("Associated", metav1.ConditionUnknown, "BareMetalHostAssociated", "m")},
			want:  State{Phase: Unbound, Name: "a-cp-1", Binding: true, Reason: "BareMetalHostAssociated", Message: "m"},
		},
		"a claim whose host was given up is not binding": {
			given: []change{with("Associated", metav1.ConditionUnknown, "Binding", "Binding host-1")},
			want:  State{Phase: Unbound, Name: "a-cp-1", Reason: "Binding", Message: "Binding host-1"},
		},
		"a claim that waits is not binding, whatever its reason": {
			given: []change{toHost, with("Associated", metav1.ConditionFalse, "Binding", "m")},
			want:  State{Phase: Unbound, Name: "a-cp-1", Reason: "Binding", Message: "m"},
		},
		"a claim that says it is bound but to no host is unbound": {
			given: []change{associated},
			want:  State{Phase: Unbound, Name: "a-cp-1"},
		},
		"a bound claim names its host": {
			given: []change{toHost, associated},
			want:  State{Phase: Bound, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1"},
		},
		"a bound claim says why the facts of its host are not published": {
			given: []change{toHost, associated, with("hostclaim.metal3.io/HardwareDataPublished", metav1.ConditionFalse,
				"HardwareDataMissing", "host-1 was not inspected")},
			want: State{
				Phase: Bound, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1",
				FactsReason: "HardwareDataMissing", FactsMessage: "host-1 was not inspected",
			},
		},
		"what failed before the spec changed has not failed": {
			given: []change{toHost, associated, with("Synchronized", metav1.ConditionFalse, "NotAssociated", "no host"), withImage},
			want: State{
				Phase: Bound, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1", PoweredOn: true,
				Deployment: deployment, Unsynchronized: "no host",
			},
		},
		"a claim without image is not provisioned, whatever it says": {
			given: []change{toHost, associated, with("Provisioned", metav1.ConditionTrue, "Provisioned", "")},
			want:  State{Phase: Bound, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1"},
		},
		"a bound claim says how far its host is": {
			given: []change{
				toHost, withImage, associated, with("Synchronized", metav1.ConditionTrue, "ConfigurationSynced", ""),
				with("Provisioned", metav1.ConditionFalse, "Provisioning", "Writing the image"),
			},
			want: State{
				Phase: Bound, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1", PoweredOn: true,
				Deployment: deployment, Reason: "Provisioning", Message: "Writing the image", Synchronized: true,
			},
		},
		"a claim whose host runs the image is provisioned": {
			given: []change{toHost, withImage, associated, with("Provisioned", metav1.ConditionTrue, "Provisioned", "")},
			want: State{
				Phase: Provisioned, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1", PoweredOn: true,
				Deployment: deployment,
			},
		},
		"what was provisioned before the spec changed is not believed": {
			given: []change{toHost, associated, with("Provisioned", metav1.ConditionTrue, "Provisioned", ""), withImage},
			want: State{
				Phase: Bound, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1", PoweredOn: true,
				Deployment: deployment,
			},
		},
		"a claim that cannot be carried out has failed": {
			given: []change{toHost, withImage, associated, with("Synchronized", metav1.ConditionFalse, "UserDataSecretSyncFailure", "no secret boot")},
			want: State{
				Phase: Failed, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1", PoweredOn: true,
				Deployment: deployment, Reason: "UserDataSecretSyncFailure", Message: "no secret boot",
				Unsynchronized: "no secret boot",
			},
		},
		"a bound claim says that its host is on, and why it is not switched": {
			given: []change{
				toHost, associated, with("Synchronized", metav1.ConditionFalse, "PowerChangesLimited", "wait\n"),
				func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = true },
			},
			want: State{
				Phase: Failed, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1", HostOn: true,
				Reason: "PowerChangesLimited", Message: "wait", Unsynchronized: "wait",
			},
		},
		"nothing is known of the power of a host that is gone": {
			given: []change{
				toHost, with("Associated", metav1.ConditionFalse, "MissingBareMetalHost", "m"), with("Synchronized", metav1.ConditionFalse, "Old", "old"),
				func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = true },
			},
			want: State{Phase: Lost, Name: "a-cp-1", Reason: "MissingBareMetalHost", Message: "m"},
		},
		"a claim whose host is gone is lost": {
			given: []change{withImage, with("Associated", metav1.ConditionFalse, "MissingBareMetalHost", "host-1 is gone")},
			want: State{
				Phase: Lost, Name: "a-cp-1", PoweredOn: true, Deployment: deployment,
				Reason: "MissingBareMetalHost", Message: "host-1 is gone",
			},
		},
		"a claim that is being deleted says so": {
			given: []change{func(c *bmov1alpha1.HostClaim) {
				c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}},
			want: State{Phase: Unbound, Name: "a-cp-1", Deleting: true},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			first := func(c *bmov1alpha1.HostClaim) { c.Generation = 1 }
			got := Read(bare(append([]change{first}, tc.given...)...))
			expect.Equal(t, tc.want, got)
			expect.Equal(t, tc.want.HostName != "", got.HasHost())
		})
	}
}

func TestReadNothing(t *testing.T) {
	expect.Equal(t, State{}, Read(nil))
}
