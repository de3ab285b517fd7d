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

package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// at is a time so many minutes after noon.
func at(minutes int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, 25, 12, minutes, 0, 0, time.UTC))
}

// is and not are conditions with their status, since noon.
func is(kind string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: at(0)}
}

func not(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: at(0)}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "blue", Name: name, CreationTimestamp: at(0)}
}

// running is a machine whose Node is ready.
func running() Objects {
	o := Objects{
		Machine:       &clusterv1.Machine{ObjectMeta: named("m")},
		Metal3Machine: &infrav1.Metal3Machine{ObjectMeta: named("m")},
		Data:          &infrav1.Metal3Data{ObjectMeta: named("d")},
		Claim:         &bmov1alpha1.HostClaim{ObjectMeta: named("m")},
		Host:          &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "h"}},
	}
	o.Machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: "KubeadmConfig", Name: "m-config"}
	o.Machine.Status.Initialization.BootstrapDataSecretCreated = ptr.To(true)
	o.Machine.Status.Conditions = []metav1.Condition{is("BootstrapConfigReady"), is("InfrastructureReady"), is("NodeReady"), is("Ready")}
	o.Metal3Machine.Status.Conditions = []metav1.Condition{is("AssociateBareMetalHost"), is("Metal3DataReady"), is("HostClaimReady"), is("KubernetesNodeReady"), is("Ready")}
	o.Data.Status.Conditions = []metav1.Condition{is("Ready")}
	o.Claim.Status.Conditions = []metav1.Condition{is("Associated"), is("Provisioned"), is("Ready")}
	o.Host.Status.Provisioning.State = bmov1alpha1.StateProvisioned
	return o
}

// waits gives a Machine and a Metal3Machine that wait for the condition.
func waits(o *Objects, condition, reason string) {
	o.Machine.Status.Conditions = []metav1.Condition{not("InfrastructureReady", "NotReady", "* Metal3Machine:\n  * "+condition), not("Ready", "NotReady", "")}
	o.Metal3Machine.Status.Conditions = []metav1.Condition{not(condition, reason, ""), not("Ready", reason, "")}
}

func TestWhy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*Objects)
		// path are the kinds on the way; cause is kind, condition and reason, with slashes between them.
		path, cause, lookAt string
	}{
		"nothing waits": {
			change: func(*Objects) {},
			path:   "Machine Metal3Machine HostClaim BareMetalHost",
		},
		"bootstrap data is waited for before the machine's own reason": {
			change: func(o *Objects) {
				waits(o, "AssociateBareMetalHost", "WaitingForBootstrapData")
				o.Machine.Status.Initialization.BootstrapDataSecretCreated = nil
				o.Machine.Status.Conditions = append(o.Machine.Status.Conditions, not("BootstrapConfigReady", "NotReady", ""))
			},
			path: "Machine", cause: "Machine/BootstrapConfigReady/NotReady", lookAt: "kubectl describe kubeadmconfig m-config -n blue",
		},
		"no host answers the claim": {
			change: func(o *Objects) {
				waits(o, "AssociateBareMetalHost", "HostClaimNotBound")
				o.Claim.Status.Conditions = []metav1.Condition{not("Associated", "NoBareMetalHost", "2 in use"), not("Provisioned", "NotAssociated", ""), not("Ready", "NoBareMetalHost", "2 in use")}
				o.Host = nil
			},
			path: "Machine Metal3Machine HostClaim", cause: "HostClaim/Associated/NoBareMetalHost", lookAt: "kubectl describe hostclaim m -n blue",
		},
		"the host is in error": {
			change: func(o *Objects) {
				waits(o, "HostClaimReady", "Provisioning")
				o.Claim.Status.Conditions = []metav1.Condition{is("Associated"), not("Provisioned", "Provisioning", ""), not("Ready", "Error", "")}
				o.Host.Status.Provisioning.State = bmov1alpha1.StateProvisioning
				o.Host.Status.ErrorType, o.Host.Status.ErrorMessage = bmov1alpha1.ProvisioningError, "no such image"
			},
			path: "Machine Metal3Machine HostClaim BareMetalHost", cause: "BareMetalHost/errorMessage/provisioning error", lookAt: "kubectl describe baremetalhost h -n infra",
		},
		"the image is being written": {
			change: func(o *Objects) {
				waits(o, "HostClaimReady", "Provisioning")
				o.Claim.Status.Conditions = []metav1.Condition{is("Associated"), not("Provisioned", "Provisioning", ""), not("Ready", "Provisioning", "")}
				o.Host.Status.Provisioning.State = bmov1alpha1.StateProvisioning
			},
			path: "Machine Metal3Machine HostClaim BareMetalHost", cause: "BareMetalHost/provisioning.state/provisioning",
		},
		"a secret of the claim is missing, whatever the host does": {
			change: func(o *Objects) {
				waits(o, "HostClaimReady", "Provisioning")
				o.Claim.Status.Conditions = []metav1.Condition{is("Associated"), not("Synchronized", "UserDataSecretSyncFailure", ""), not("Ready", "UserDataSecretSyncFailure", "")}
				o.Host.Status.Provisioning.State = bmov1alpha1.StatePreparing
			},
			path: "Machine Metal3Machine HostClaim", cause: "HostClaim/Synchronized/UserDataSecretSyncFailure",
		},
		"the pool has no address": {
			change: func(o *Objects) {
				waits(o, "Metal3DataReady", "AddressUnavailable")
				o.Data.Status.Conditions = []metav1.Condition{not("Ready", "AddressUnavailable", "")}
			},
			path: "Machine Metal3Machine Metal3Data", cause: "Metal3Data/Ready/AddressUnavailable",
		},
		"the claim may not be read": {
			change: func(o *Objects) {
				waits(o, "AssociateBareMetalHost", "HostClaimNotBound")
				o.Claim, o.Host = nil, nil
				o.Unread = []Link{{Kind: "HostClaim", Namespace: "blue", Name: "m", Unread: "forbidden"}}
			},
			path: "Machine Metal3Machine HostClaim", cause: "Metal3Machine/AssociateBareMetalHost/HostClaimNotBound",
		},
		"the credentials for the hosts are gone": {
			change: func(o *Objects) { waits(o, "IdentityReady", "SecretNotFound") },
			path:   "Machine Metal3Machine", cause: "Metal3Machine/IdentityReady/SecretNotFound",
		},
		"the Node has not joined": {
			change: func(o *Objects) {
				o.Machine.Status.Conditions = []metav1.Condition{is("InfrastructureReady"), not("NodeReady", "NodeDoesNotExist", ""), not("Ready", "NotReady", "")}
				o.Metal3Machine.Status.Conditions = []metav1.Condition{is("HostClaimReady"), not("KubernetesNodeReady", "WaitingForNode", ""), is("Ready")}
			},
			path: "Machine Metal3Machine", cause: "Metal3Machine/KubernetesNodeReady/WaitingForNode",
		},
		"a machine is deleted and its host wiped": {
			change: func(o *Objects) {
				waits(o, "Ready", "Deleting")
				o.Machine.Status.Conditions = append(o.Machine.Status.Conditions, is("Deleting"))
				o.Claim.Status.Conditions = []metav1.Condition{not("Ready", "HostDeprovisioning", "")}
				o.Host.Status.Provisioning.State = bmov1alpha1.StateDeprovisioning
			},
			path: "Machine Metal3Machine HostClaim BareMetalHost", cause: "BareMetalHost/provisioning.state/deprovisioning",
		},
		"a claim alone that is paused": {
			change: func(o *Objects) {
				*o = Objects{Claim: o.Claim}
				o.Claim.Status.Conditions = []metav1.Condition{is("Paused"), not("Ready", "NoBareMetalHost", "")}
			},
			path: "HostClaim", cause: "HostClaim/Paused/Paused",
		},
		"a claim that no manager has seen": {
			change: func(o *Objects) { *o = Objects{Claim: &bmov1alpha1.HostClaim{ObjectMeta: named("m")}} },
			path:   "HostClaim", cause: "HostClaim/Ready/NotReported",
		},
		"another controller works on the claim": {
			change: func(o *Objects) {
				*o = Objects{Claim: o.Claim}
				o.Claim.Status.Conditions = append(o.Claim.Status.Conditions, is(infrav1.StoodDownCondition))
			},
			path: "HostClaim", cause: "HostClaim/hostclaim.metal3.io/StoodDown/hostclaim.metal3.io/StoodDown",
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running()
			c.change(&o)
			got := Why(o)
			kinds := make([]string, 0, len(got.Path))
			for _, l := range got.Path {
				kinds = append(kinds, l.Kind)
			}
			cause := ""
			if got.Cause != nil {
				cause = got.Cause.Kind + "/" + got.Cause.Condition + "/" + got.Cause.Reason
			}
			if path := strings.Join(kinds, " "); path != c.path || cause != c.cause {
				t.Errorf("got path %q and cause %q, want %q and %q", path, cause, c.path, c.cause)
			}
			expect.That(t, c.lookAt == "" || got.LookAt == c.lookAt, "look at %q, want %q", got.LookAt, c.lookAt)
		})
	}
}

func TestWhyCluster(t *testing.T) {
	t.Parallel()
	waiting, fine := running(), running()
	waits(&waiting, "IdentityReady", "SecretNotFound")
	cluster := &clusterv1.Cluster{ObjectMeta: named("c")}
	cluster.Status.Conditions = []metav1.Condition{not("Available", "NotAvailable", "")}
	infrastructure := &infrav1.Metal3Cluster{ObjectMeta: named("c")}
	infrastructure.Status.Conditions = []metav1.Condition{not("BaremetalInfrastructureReady", "WaitingForControlPlaneEndpoint", ""), not("Ready", "WaitingForControlPlaneEndpoint", "")}
	paused := cluster.DeepCopy()
	paused.Spec.Paused = ptr.To(true)
	broken := ClusterLink(cluster)
	broken.Children = []Link{InfrastructureLink(infrastructure)}
	tests := map[string]struct {
		root     Link
		machines []Objects
		want     []string
	}{
		"each machine that waits":        {root: ClusterLink(cluster), machines: []Objects{fine, waiting}, want: []string{"Metal3Machine IdentityReady"}},
		"the Cluster if no machine does": {root: ClusterLink(cluster), machines: []Objects{fine}, want: []string{"Cluster Available"}},
		"a pause holds all":              {root: ClusterLink(paused), machines: []Objects{waiting}, want: []string{"Cluster spec.paused"}},
		"its infrastructure":             {root: broken, machines: []Objects{waiting}, want: []string{"Metal3Cluster BaremetalInfrastructureReady"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, answer := range WhyCluster(c.root, c.machines) {
				got = append(got, answer.Cause.Kind+" "+answer.Cause.Condition)
			}
			expect.Equal(t, c.want, got)
		})
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	shape := func(o Objects) string {
		var walk func([]Link) string
		walk = func(links []Link) string {
			text := make([]string, 0, len(links))
			for _, l := range links {
				s := l.Kind
				if l.Unread != "" {
					s = "?" + s
				}
				if len(l.Children) > 0 {
					s += "(" + walk(l.Children) + ")"
				}
				text = append(text, s)
			}
			return strings.Join(text, " ")
		}
		return walk(o.Tree())
	}
	if got, want := shape(running()), "Machine(Metal3Machine(Metal3Data HostClaim(BareMetalHost)))"; got != want {
		t.Errorf("a running machine: got %s, want %s", got, want)
	}
	o := running()
	o.Data, o.Host = nil, nil
	o.Unread = []Link{{Kind: "BareMetalHost", Unread: "forbidden"}}
	if got, want := shape(o), "Machine(Metal3Machine(HostClaim(?BareMetalHost)))"; got != want {
		t.Errorf("a host that may not be read: got %s, want %s", got, want)
	}
}

func TestStations(t *testing.T) {
	t.Parallel()
	turn := func(conditions []metav1.Condition, kind string, minutes int) {
		for i := range conditions {
			if conditions[i].Type == kind {
				conditions[i].LastTransitionTime = at(minutes)
			}
		}
	}
	way := func(change func(*Objects)) []string {
		o := running()
		o.Claim.CreationTimestamp = at(1)
		turn(o.Claim.Status.Conditions, "Associated", 2)
		turn(o.Metal3Machine.Status.Conditions, "Metal3DataReady", 3)
		o.Host.Status.OperationHistory.Provision = bmov1alpha1.OperationMetric{Start: at(4), End: at(9)}
		turn(o.Metal3Machine.Status.Conditions, "HostClaimReady", 10)
		turn(o.Metal3Machine.Status.Conditions, "KubernetesNodeReady", 12)
		turn(o.Machine.Status.Conditions, "NodeReady", 13)
		change(&o)
		var got []string
		for _, s := range Stations(o) {
			line := s.Name
			if s.At != nil {
				line += s.At.Format(" 15:04")
			}
			if s.Took != nil {
				line += " +" + s.Took.Duration.String()
			}
			got = append(got, line)
		}
		return got
	}
	whole := []string{
		"Machine created 12:00", "Bootstrap data ready 12:00 +0s", "HostClaim created 12:01 +1m0s", "Host bound 12:02 +1m0s", "Data rendered 12:03 +1m0s",
		"Image begun 12:04 +1m0s", "Image written 12:09 +5m0s", "Node found 12:12 +3m0s", "Node ready 12:13 +1m0s",
	}
	expect.Equal(t, whole, way(func(*Objects) {}))
	unread := []string{
		"Machine created 12:00", "Bootstrap data ready 12:00 +0s", "HostClaim created", "Host bound 12:00 +0s", "Data rendered 12:03 +3m0s",
		"Image begun", "Image written 12:10 +7m0s", "Node found 12:12 +2m0s", "Node ready 12:13 +1m0s",
	}
	expect.Equal(t, unread, way(func(o *Objects) { o.Claim, o.Host = nil, nil }))
	former := way(func(o *Objects) {
		o.Host.Status.OperationHistory.Provision = bmov1alpha1.OperationMetric{Start: at(-9), End: at(-5)}
		o.Claim.Status.Conditions = []metav1.Condition{o.Claim.Status.Conditions[0]}
		o.Metal3Machine.Status.Conditions = nil
		o.Machine.Status.Conditions = nil
	})
	if diff := cmp.Diff([]string{
		"Machine created 12:00", "Bootstrap data ready", "HostClaim created 12:01 +1m0s", "Host bound 12:02 +1m0s", "Data rendered",
		"Image begun", "Image written", "Node found", "Node ready",
	}, former); diff != "" {
		t.Errorf("a host that was written for another claim before (-want +got):\n%s", diff)
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	host := func(name string, state bmov1alpha1.ProvisioningState, tenant string) bmov1alpha1.BareMetalHost {
		h := bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name}}
		h.Spec.BMC.Address = "redfish://192.0.2.1"
		h.Status.Provisioning.State, h.Status.OperationalStatus = state, bmov1alpha1.OperationalStatusOK
		if tenant != "" {
			h.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "HostClaim", Namespace: tenant, Name: "c"}
		}
		return h
	}
	paused := host("p", bmov1alpha1.StateAvailable, "")
	paused.Annotations = map[string]string{bmov1alpha1.PausedAnnotation: ""}
	hosts := Hosts([]bmov1alpha1.BareMetalHost{
		paused, host("b", bmov1alpha1.StateAvailable, ""), host("a", bmov1alpha1.StateAvailable, ""),
		host("x", bmov1alpha1.StateProvisioned, "blue"), host("y", bmov1alpha1.StateProvisioned, "red"),
	})
	if diff := cmp.Diff([]Host{
		{Namespace: "infra", State: "available", Use: "free", Hosts: 2},
		{Namespace: "infra", State: "available", Use: "paused", Hosts: 1},
		{Namespace: "infra", State: "provisioned", Use: "in use", Hosts: 2},
	}, ByState(hosts)); diff != "" {
		t.Errorf("by state (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Host{
		{Namespace: "infra", State: "available", Use: "free", Hosts: 2},
		{Namespace: "infra", State: "available", Use: "paused", Hosts: 1},
		{Namespace: "infra", Tenant: "blue", State: "provisioned", Hosts: 1},
		{Namespace: "infra", Tenant: "red", State: "provisioned", Hosts: 1},
	}, ByTenant(hosts)); diff != "" {
		t.Errorf("by tenant (-want +got):\n%s", diff)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	free, bound := bmov1alpha1.HostClaim{ObjectMeta: named("b")}, *running().Claim
	free.Labels = map[string]string{clusterv1.ClusterNameLabel: "demo"}
	free.Status.Conditions = []metav1.Condition{not("Associated", "NoBareMetalHost", "none\nleft"), not("Provisioned", "NotAssociated", ""), not("Ready", "NoBareMetalHost", "")}
	bound.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "h"}
	bound.Status.Conditions = append(bound.Status.Conditions, not(infrav1.AdmittedCondition, "PolicyRevoked", ""))
	got := Claims([]bmov1alpha1.HostClaim{bound, free})
	since := at(0)
	want := []Claim{
		{
			Link:    Link{Kind: "HostClaim", Namespace: "blue", Name: "b", Ready: "False", Condition: "Associated", Reason: "NoBareMetalHost", Message: "none; left", Since: &since},
			Cluster: "demo", Phase: "NotAssociated",
		},
		{
			Link: Link{Kind: "HostClaim", Namespace: "blue", Name: "m", Ready: "True", Condition: "Ready", Reason: "Ready", Since: &since},
			Host: "infra/h", Phase: "Provisioned", Admitted: "False",
		},
	}
	expect.Equal(t, want, got)
	if got := Waiting(got); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("waiting: %v", got)
	}
}
