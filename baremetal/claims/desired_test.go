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
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var owner = Owner{Namespace: "tenant-a", Name: "a-cp-1", UID: "uid-1"}

// bare is the claim of owner before anything is to run on its host.
func bare(change ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant-a",
			Name:      "a-cp-1",
			Labels:    map[string]string{"cluster.x-k8s.io/cluster-name": "a"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3Machine",
				Name: "a-cp-1", UID: "uid-1", Controller: ptr.To(true),
			}},
		},
		Spec: bmov1alpha1.HostClaimSpec{
			ConsumerRef: &corev1.ObjectReference{
				APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3Machine",
				Namespace: "tenant-a", Name: "a-cp-1", UID: "uid-1",
			},
		},
	}
	for _, c := range change {
		c(claim)
	}
	return claim
}

func TestDesired(t *testing.T) {
	tests := map[string]struct {
		given Wanted
		want  *bmov1alpha1.HostClaim
	}{
		"asks for any host when the machine has no preference": {
			given: Wanted{Name: "a-cp-1", Owner: owner, ClusterName: "a"},
			want:  bare(),
		},
		"keeps the name of the claim that the machine already has": {
			given: Wanted{Name: "reserved-7", Owner: owner, ClusterName: "a"},
			want:  bare(func(c *bmov1alpha1.HostClaim) { c.Name = "reserved-7" }),
		},
		"is for the manager that its machine is for": {
			given: Wanted{Name: "a-cp-1", Owner: owner, ClusterName: "a", WatchFilter: "blue"},
			want:  bare(func(c *bmov1alpha1.HostClaim) { c.Labels["cluster.x-k8s.io/watch-filter"] = "blue" }),
		},
		"names its class, with arguments for the controller": {
			given: Wanted{Name: "a-cp-1", Owner: owner, ClusterName: "a", Class: &infrav1.HostClass{
				Name: "large", Parameters: map[string]infrav1.HostClassParameter{"size": "<8>", "disk": ""},
			}},
			want: bare(func(c *bmov1alpha1.HostClaim) {
				c.Labels["hostclaim.metal3.io/class"] = "large"
				c.Annotations = map[string]string{"hostclaim.metal3.io/class-arguments": `{"disk":"","size":"<8>"}`}
			}),
		},
		"spells operators in lower case and always lists values": {
			given: Wanted{Name: "a-cp-1", Owner: owner, ClusterName: "a", FailureDomain: "row-1", Selector: &infrav1.HostSelector{
				MatchLabels: map[string]string{"rack": "a1"},
				MatchExpressions: []infrav1.HostSelectorRequirement{
					{Key: "size", Operator: "In", Values: []string{"m", "l"}},
					{Key: "gpu", Operator: "Exists"},
					{Key: "old", Operator: "DoesNotExist"},
					{Key: "broken", Operator: "!"},
				},
				InNamespace: "infra",
			}},
			want: bare(func(c *bmov1alpha1.HostClaim) {
				c.Spec.FailureDomain = "row-1"
				c.Spec.HostSelector = bmov1alpha1.HostSelector{
					MatchLabels: map[string]string{"rack": "a1"},
					MatchExpressions: []bmov1alpha1.HostSelectorRequirement{
						{Key: "size", Operator: selection.In, Values: []string{"m", "l"}},
						{Key: "gpu", Operator: selection.Exists, Values: []string{}},
						{Key: "old", Operator: selection.DoesNotExist, Values: []string{}},
						{Key: "broken", Operator: selection.DoesNotExist, Values: []string{}},
					},
					InNamespace: "infra",
				}
			}),
		},
		"prefers a failure domain where the machine does not insist on it": {
			given: Wanted{Name: "a-cp-1", Owner: owner, ClusterName: "a", FailureDomain: "row-1", SoftFailureDomain: true},
			want: bare(func(c *bmov1alpha1.HostClaim) {
				c.Spec.FailureDomain = "row-1"
				c.Annotations = map[string]string{"hostclaim.metal3.io/soft-failure-domain": "true"}
			}),
		},
		"asks for image, secrets and power together": {
			given: Wanted{Name: "a-cp-1", Owner: owner, ClusterName: "a", PoweredOn: true, Deployment: &Deployment{
				Image:    ImageOf(&infrav1.Image{URL: "http://x/i", Checksum: ptr.To("abc"), ChecksumType: "sha256", DiskFormat: "qcow2"}, ""),
				UserData: "boot", MetaData: "meta", NetworkData: "net",
			}},
			want: bare(func(c *bmov1alpha1.HostClaim) {
				c.Spec.PoweredOn = true
				c.Spec.Image = &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc", ChecksumType: "sha256", DiskFormat: ptr.To("qcow2")}
				c.Spec.UserData = &corev1.SecretReference{Namespace: "tenant-a", Name: "boot"}
				c.Spec.MetaData = &corev1.SecretReference{Namespace: "tenant-a", Name: "meta"}
				c.Spec.NetworkData = &corev1.SecretReference{Namespace: "tenant-a", Name: "net"}
			}),
		},
		"asks for a custom deployment without an image": {
			given: Wanted{Name: "a-cp-1", Owner: owner, ClusterName: "a", Deployment: &Deployment{
				Image: ImageOf(nil, ""), CustomDeploy: &bmov1alpha1.CustomDeploy{Method: "install_coreos"},
			}},
			want: bare(func(c *bmov1alpha1.HostClaim) {
				c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "install_coreos"}
			}),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Desired(tc.given)) })
	}
}

// A claim that takes a host over keeps what the machine asked for, by which the next machine finds it again; but for what
// no claim may ask for.
func TestDesiredTakeOver(t *testing.T) {
	w := Wanted{Name: "m", FailureDomain: "row-1", Selector: &infrav1.HostSelector{MatchLabels: map[string]string{"rack": "a1"}}, TakeOver: "host-1"}
	got := Desired(w)
	expect.Equal(t, map[string]string{"rack": "a1"}, got.Spec.HostSelector.MatchLabels)
	expect.Equal(t, "row-1", got.Spec.FailureDomain)
	expect.Equal(t, "host-1", got.Annotations[infrav1.TakeOverAnnotation])
	w.Selector.MatchExpressions = []infrav1.HostSelectorRequirement{{Key: "cpus", Operator: "gt", Values: []string{"8"}}}
	expect.Equal(t, bmov1alpha1.HostSelector{}, Desired(w).Spec.HostSelector)
	w.TakeOver = ""
	expect.Equal(t, 1, len(Desired(w).Spec.HostSelector.MatchExpressions))
}

func TestName(t *testing.T) {
	long := strings.Repeat("m", 250)
	tests := map[string]struct{ given, want string }{
		"is that of the machine":                    {given: "a-cp-1", want: "a-cp-1"},
		"is kept as long as its facts can be named": {given: long[:243], want: long[:243]},
		"is cut and hashed beyond that":             {given: long, want: long[:234] + "-" + "6ca616c2"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Name(tc.given)
			expect.That(t, len(got) <= 243, "name has %d characters", len(got))
			expect.Equal(t, tc.want, got)
		})
	}
	expect.That(t, Name(long+"x") != Name(long+"y"), "two long names share a claim")
}

func TestBelongsTo(t *testing.T) {
	tests := map[string]struct {
		change func(*bmov1alpha1.HostClaim)
		want   bool
	}{
		"to the machine with the UID in consumerRef": {change: func(*bmov1alpha1.HostClaim) {}, want: true},
		"whatever the claim is called":               {change: func(c *bmov1alpha1.HostClaim) { c.Name = "x" }, want: true},
		"an owner that is missing":                   {change: func(c *bmov1alpha1.HostClaim) { c.OwnerReferences = nil }, want: true},
		"after a move, by the owner reference": {
			change: func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef.UID = "before-the-move" }, want: true,
		},
		"not to a namesake that came later": {change: func(c *bmov1alpha1.HostClaim) {
			c.Spec.ConsumerRef.UID, c.OwnerReferences[0].UID = "other", "other"
		}},
		"not by the owner reference if consumerRef names another machine": {change: func(c *bmov1alpha1.HostClaim) {
			c.Spec.ConsumerRef.UID, c.Spec.ConsumerRef.Name = "other", "other"
		}},
		"not without owner and UID": {change: func(c *bmov1alpha1.HostClaim) {
			c.Spec.ConsumerRef.UID, c.OwnerReferences = "other", nil
		}},
		"not to none at all":                    {change: func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef = nil }},
		"not to another kind":                   {change: func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef.Kind = "Pod" }},
		"not to a machine of another namespace": {change: func(c *bmov1alpha1.HostClaim) { c.Namespace = "tenant-b" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, BelongsTo(bare(tc.change), owner)) })
	}
}

func TestConsumerUID(t *testing.T) {
	expect.Equal(t, "uid-1", ConsumerUID(bare()))
	expect.Equal(t, "", ConsumerUID(&bmov1alpha1.HostClaim{}))
	pod := bare(func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef.Kind = "Pod" })
	expect.Equal(t, "", ConsumerUID(pod))
}

func TestUpToDate(t *testing.T) {
	desired := Desired(Wanted{Name: "a-cp-1", Owner: owner, ClusterName: "a", SoftFailureDomain: true, Selector: &infrav1.HostSelector{
		MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "gpu", Operator: "exists"}},
	}})
	tests := map[string]struct {
		change func(*bmov1alpha1.HostClaim)
		want   bool
	}{
		"as it was written": {change: func(*bmov1alpha1.HostClaim) {}, want: true},
		"with more labels, owners and a status": {change: func(c *bmov1alpha1.HostClaim) {
			c.Labels["more"], c.Annotations["more"] = "yes", "yes"
			c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{UID: "other"})
			c.Status.PoweredOn = true
		}, want: true},
		"with an empty list for a missing one": {change: func(c *bmov1alpha1.HostClaim) {
			c.Spec.HostSelector.MatchExpressions[0].Values = nil
			c.Spec.HostSelector.MatchLabels = map[string]string{}
		}, want: true},
		"not with another label":         {change: func(c *bmov1alpha1.HostClaim) { c.Labels["cluster.x-k8s.io/cluster-name"] = "b" }},
		"not with a hard failure domain": {change: func(c *bmov1alpha1.HostClaim) { c.Annotations = nil }},
		"not without its owner":          {change: func(c *bmov1alpha1.HostClaim) { c.OwnerReferences = nil }},
		"not with another consumer":      {change: func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef.UID = "x" }},
		"not with another selector":      {change: func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchExpressions = nil }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			current := desired.DeepCopy()
			tc.change(current)
			expect.Equal(t, tc.want, UpToDate(current, desired))
		})
	}
}

func TestRepause(t *testing.T) {
	by := func(value string) map[string]string { return map[string]string{"cluster.x-k8s.io/paused": value} }
	tests := map[string]struct {
		labels      map[string]string
		annotations map[string]string
		paused      bool
		want        map[string]string
		change      bool
	}{
		"pauses a claim with its Cluster":          {paused: true, want: by(PauseValue), change: true},
		"pauses no claim that was handed over":     {labels: map[string]string{infrav1.OriginKey: "o"}, paused: true},
		"pauses it once":                           {annotations: by(PauseValue), paused: true, want: by(PauseValue)},
		"leaves the pause of a user as it is":      {annotations: by(""), paused: true, want: by("")},
		"unpauses a claim with its Cluster":        {annotations: by(PauseValue), want: map[string]string{}, change: true},
		"does not take back the pause of a user":   {annotations: by(""), want: by("")},
		"has nothing to do with an unpaused claim": {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			claim := bare(func(c *bmov1alpha1.HostClaim) { c.Labels, c.Annotations = tc.labels, tc.annotations })
			expect.Equal(t, tc.change, Repause(claim, tc.paused))
			expect.Equal(t, tc.want, claim.Annotations)
		})
	}
}

// The default class of a claim is the hostclaim manager's, and stays; another one cannot be asked for.
func TestKeepChoiceOfClass(t *testing.T) {
	tests := map[string]struct{ current, wanted, want string }{
		"no class is wanted":      {"default", "", ""},
		"the same class":          {"large", "large", "large"},
		"another class":           {"large", "small", "large"},
		"a class where none was":  {"", "small", ""},
		"no class where none was": {"", "", ""},
	}
	of := func(class string) *bmov1alpha1.HostClaim {
		return bare(func(c *bmov1alpha1.HostClaim) {
			if class != "" {
				c.Labels["hostclaim.metal3.io/class"] = class
			}
		})
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			current, desired := of(tt.current), of(tt.wanted)
			current.Finalizers = []string{"hostclaim.metal3.io/machines"} // a controller answers it
			KeepChoice(desired, current)
			expect.Equal(t, tt.want, desired.Labels["hostclaim.metal3.io/class"])
			expect.That(t, UpToDate(current, desired), "the claim would be written")
		})
	}
}

func TestKeepChoice(t *testing.T) {
	chosen := func(c *bmov1alpha1.HostClaim) {
		c.Spec.FailureDomain = "row-1"
		c.Spec.HostSelector.MatchLabels = map[string]string{"rack": "a1"}
	}
	edited := func(c *bmov1alpha1.HostClaim) {
		c.Spec.FailureDomain = "row-2"
		c.Spec.HostSelector = bmov1alpha1.HostSelector{MatchLabels: map[string]string{"rack": "b1"}, InNamespace: "infra"}
	}
	host := func(status metav1.ConditionStatus) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) {
			c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
			c.Status.Conditions = []metav1.Condition{{Type: bmov1alpha1.AssociatedCondition, Status: status}}
		}
	}
	tests := map[string]struct {
		current *bmov1alpha1.HostClaim
		want    *bmov1alpha1.HostClaim
	}{
		"a claim that has its host keeps what it was chosen by":     {bare(chosen, host(metav1.ConditionTrue)), bare(chosen)},
		"a claim that is being bound asks for what is wanted now":   {bare(chosen, host(metav1.ConditionUnknown)), bare(edited)},
		"a claim that waits for a host asks for what is wanted now": {bare(chosen), bare(edited)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			desired := bare(edited)
			KeepChoice(desired, tt.current)
			expect.Equal(t, tt.want, desired)
		})
	}
}

// TestWithPullSecret shows that the credentials of an image are those that are named now, and
// that the image of the claim is not changed by it.
func TestWithPullSecret(t *testing.T) {
	before := &bmov1alpha1.Image{URL: "oci://x/i", OCIAuthSecretName: ptr.To("former")}
	for _, name := range []string{"", "former", "next"} {
		if got := WithPullSecret(before, name); PullSecretOf(got) != name || got.URL != before.URL || PullSecretOf(before) != "former" {
			t.Errorf("WithPullSecret(%q) = %v, and the former is %v", name, got, before)
		}
	}
	if got := WithPullSecret(nil, "next"); got != nil {
		t.Errorf("no image becomes %v", got)
	}
}

func TestTemplateOf(t *testing.T) {
	const name, kind = "cluster.x-k8s.io/cloned-from-name", "cluster.x-k8s.io/cloned-from-groupkind"
	tests := map[string]struct {
		annotations map[string]string
		want        string
	}{
		"a machine made from a template": {
			map[string]string{name: "workers", kind: "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"}, "workers",
		},
		"a machine made by hand":                    {nil, ""},
		"a machine made from a template of others":  {map[string]string{name: "workers", kind: "OtherTemplate.example.com"}, ""},
		"a machine that does not say of which kind": {map[string]string{name: "workers"}, ""},
		"a machine that does not say of which name": {map[string]string{kind: TemplateKind}, ""},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, ok := TemplateOf(tc.annotations)
			if !ok {
				got = ""
			}
			expect.Equal(t, tc.want, got)
		})
	}
}
