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

package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var noon = metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))

func condition(conditionType, status, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
}

// started is a pass over a machine that is known not to be paused.
func started(change ...func(*scope)) *scope {
	s := &scope{plan: &Plan{}}
	s.Machine = &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m-1"}}
	set(s.Machine, condition("Paused", "False", "NotPaused", ""))
	for _, f := range change {
		f(s)
	}
	s.before = s.Machine.DeepCopy()
	return s
}

// said are the conditions of a machine, but Paused, by their types; see TestPause.
func said(m *infrav1.Metal3Machine) []string {
	var all []string
	for _, c := range m.Status.Conditions {
		if c.Type != "Paused" {
			all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message), ": "))
		}
	}
	slices.Sort(all)
	return all
}

func TestReport(t *testing.T) {
	unbound := waiting("AssociateBareMetalHost", "HostClaimNotBound", "8 hosts seen: 8 in use")
	host := hardware.Host{FailureDomain: "row-1", Hostname: "h", NICs: []hardware.NIC{{Name: "eth0", IP: "192.0.2.1"}}}
	addresses := func(hostname string) []clusterv1.MachineAddress {
		return []clusterv1.MachineAddress{
			{Type: "InternalIP", Address: "192.0.2.1"}, {Type: "Hostname", Address: hostname}, {Type: "InternalDNS", Address: "h"},
		}
	}
	notBound := []string{
		"AssociateBareMetalHost False HostClaimNotBound: 8 hosts seen: 8 in use",
		"Ready False HostClaimNotBound: * AssociateBareMetalHost: 8 hosts seen: 8 in use",
	}
	nothing, unchanged := func(*infrav1.Metal3Machine) {}, func(m *infrav1.Metal3Machine) { m.Status.LastUpdated = nil }
	for name, tc := range map[string]struct {
		given func(*scope)
		said  []string
		want  func(*infrav1.Metal3Machine) // what changes besides, and the time
	}{
		"what does not hold any more loses its condition": {
			func(s *scope) {
				s.plan.Conditions = []metav1.Condition{unbound}
				set(s.Machine, condition("HostClaimReady", "True", "Provisioned", ""))
			}, notBound, nothing,
		},
		"the time of the last change stays when nothing has changed": {
			func(s *scope) {
				s.plan.Conditions = []metav1.Condition{unbound}
				reportConditions(s)
			}, notBound, unchanged,
		},
		"a machine whose server runs is ready, and tells all about it": {
			func(s *scope) {
				s.plan = &Plan{
					ProviderID: id, Provisioned: true, Secrets: Secrets{UserData: "boot", NetworkData: "net"},
					Conditions: []metav1.Condition{isBound, serverRuns, waiting("KubernetesNodeReady", "WaitingForNode", "no Node")},
				}
				s.Host, s.Facts, s.Data.Name = host, true, "template-0"
				s.Claim = claims.State{Phase: claims.Provisioned, HostNamespace: "infra", HostName: "host-1"}
			},
			[]string{
				"AssociateBareMetalHost True AssociateBareMetalHostSuccess", "HostClaimReady True Provisioned",
				"KubernetesNodeReady False WaitingForNode: no Node", "Ready True Ready",
			},
			func(m *infrav1.Metal3Machine) {
				m.Annotations, m.Spec.ProviderID = map[string]string{"metal3.io/BareMetalHost": "infra/host-1"}, id
				m.Status.Initialization.Provisioned, m.Status.Addresses, m.Status.FailureDomain = ptr.To(true), addresses("h"), "row-1"
				m.Status.UserData = &corev1.SecretReference{Namespace: "tenant-a", Name: "boot"}
				m.Status.NetworkData = &corev1.SecretReference{Namespace: "tenant-a", Name: "net"}
				m.Status.RenderedData = &infrav1.Metal3ObjectRef{Namespace: "tenant-a", Name: "template-0"}
			},
		},
		"a machine tells its claim and its Node, whose name is its Hostname": {
			func(s *scope) {
				s.plan, s.Host, s.Facts = &Plan{NodeName: "a-cp-1"}, host, true
				s.hostClaim = &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "claim-1"}}
				s.Claim = claims.Read(s.hostClaim)
			}, nil, func(m *infrav1.Metal3Machine) {
				m.Status.Addresses, m.Status.FailureDomain, m.Status.NodeName = addresses("a-cp-1"), "row-1", "a-cp-1"
				m.Status.HostClaim = &infrav1.Metal3ObjectRef{Namespace: "tenant-a", Name: "claim-1"}
			},
		},
		"a pass that failed shows why, and leaves the rest as it was": {
			func(s *scope) {
				s.plan = nil
				set(s.Machine, condition("HostClaimReady", "True", "Provisioned", ""))
				s.wait("Metal3DataReady", "WaitingForMetal3Data", "cannot be read")
			}, []string{
				"HostClaimReady True Provisioned", "Metal3DataReady False WaitingForMetal3Data: cannot be read",
				"Ready False WaitingForMetal3Data: * Metal3DataReady: cannot be read",
			}, nothing,
		},
		"a pass that failed before anything was known shows nothing": {func(s *scope) { s.plan = nil }, nil, unchanged},
		"a problem with a write is shown instead of the success that was planned": {
			func(s *scope) {
				s.plan.Conditions = []metav1.Condition{nodeFound}
				s.wait("KubernetesNodeReady", "WaitingForNode", "forbidden")
			}, []string{"KubernetesNodeReady False WaitingForNode: forbidden"}, nothing,
		},
		"a machine that is being deleted is not ready, and says what it waits for": {
			func(s *scope) {
				s.plan, s.Machine.DeletionTimestamp = nil, &noon
				s.release = &ReleasePlan{Waits: []metav1.Condition{waiting("HostClaimReady", "Deprovisioning", "Cleaning")}}
			}, []string{"HostClaimReady False Deprovisioning: Cleaning", "Ready False Deleting: Cleaning"}, nothing,
		},
		"a machine that is being deleted without a claim is not ready either": {
			func(s *scope) {
				s.plan, s.Machine.DeletionTimestamp, s.release = nil, &noon, &ReleasePlan{Done: true}
			}, []string{"Ready False Deleting: The machine is being deleted"}, nothing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := started(tc.given)
			want := s.Machine.DeepCopy()
			want.Status.LastUpdated = &noon
			tc.want(want)
			updateStatus(s, noon)
			expect.Equal(t, tc.said, said(s.Machine))
			derived := cmpopts.IgnoreFields(infrav1.Metal3MachineStatus{}, "Conditions", "Deprecated") // see controllers/internal/conditions
			expect.Equal(t, want, s.Machine, derived, cmpopts.EquateEmpty())
		})
	}
}

func TestTransitions(t *testing.T) {
	host := func(name string) func(*infrav1.Metal3Machine) {
		return func(m *infrav1.Metal3Machine) { m.Annotations = map[string]string{infrav1.HostAnnotation: name} }
	}
	is := func(conditionType, reason string) func(*infrav1.Metal3Machine) {
		return func(m *infrav1.Metal3Machine) { set(m, waiting(conditionType, reason, "m")) }
	}
	runs := func(m *infrav1.Metal3Machine) {
		m.Status.Initialization.Provisioned = ptr.To(true)
		m.Spec.ProviderID = "metal3://a/b/c"
	}
	nothing := func(*infrav1.Metal3Machine) {}
	leaving := func(name string) func(*infrav1.Metal3Machine) {
		return func(m *infrav1.Metal3Machine) { host(name)(m); m.DeletionTimestamp = &noon }
	}
	held := func(name string) func(*infrav1.Metal3Machine) {
		return func(m *infrav1.Metal3Machine) { leaving(name)(m); m.Finalizers = []string{infrav1.MachineFinalizer} }
	}
	rebuilt := func(m *infrav1.Metal3Machine) {
		runs(m)
		m.Annotations = map[string]string{infrav1.RebuiltAnnotation: "1"}
	}
	tests := map[string]struct {
		before, after func(*infrav1.Metal3Machine)
		want          []transition
	}{
		"nothing happens":                        {before: host("infra/h"), after: host("infra/h")},
		"a host is bound":                        {before: nothing, after: host("infra/h"), want: []transition{{"Normal", "HostBound", "Bind", "Bound to host infra/h"}}},
		"a server runs":                          {before: nothing, after: runs, want: []transition{{"Normal", "Provisioned", "Provision", "Provisioned with provider ID metal3://a/b/c"}}},
		"a server runs before its host was told": {before: nothing, after: func(m *infrav1.Metal3Machine) { runs(m); host("infra/h")(m) }, want: []transition{{"Normal", "Provisioned", "Provision", "Bound to host infra/h, and provisioned with provider ID metal3://a/b/c"}}},
		"a server runs on":                       {before: runs, after: runs},
		"a server is rebuilt": {
			before: runs, after: is("HostClaimReady", "Rebuilding"), want: []transition{{"Normal", "Rebuilding", "Rebuild", "m"}},
		},
		"a rebuild has ended": {
			before: runs, after: rebuilt, want: []transition{{"Normal", "Rebuilt", "Rebuild", "The server was written anew"}},
		},
		"a text of a template is used up": {
			before: runs, after: func(m *infrav1.Metal3Machine) {
				rebuilt(m)
				is("SpecApplied", "RebuildRefused")(m)
			},
		},
		"a plain wait":      {before: nothing, after: is("AssociateBareMetalHost", "HostClaimNotBound")},
		"a host is lost":    {before: nothing, after: is("AssociateBareMetalHost", "HostLost"), want: []transition{{"Warning", "HostLost", "Bind", "m"}}},
		"a host stays lost": {before: is("AssociateBareMetalHost", "HostLost"), after: is("AssociateBareMetalHost", "HostLost")},
		"a secret is missing after something else was": {
			before: is("AssociateBareMetalHost", "WaitingForBootstrapData"), after: is("AssociateBareMetalHost", "BootstrapSecretNotFound"),
			want: []transition{{"Warning", "BootstrapSecretNotFound", "Bind", "m"}},
		},
		"a host is given back": {
			before: held("infra/h"), after: leaving("infra/h"),
			want: []transition{{"Normal", "Released", "Release", "Host infra/h was given back"}},
		},
		"a machine that never had a host goes": {before: held(""), after: leaving("")},
		"a host is not given back yet":         {before: held("infra/h"), after: held("infra/h")},
		"two Nodes fit":                        {before: nothing, after: is("KubernetesNodeReady", "NodeAmbiguous"), want: []transition{{"Warning", "NodeAmbiguous", "FindNode", "m"}}},
		"the other cluster is lost":            {before: nothing, after: is("IdentityReady", "Unreachable"), want: []transition{{"Warning", "Unreachable", "Connect", "m"}}},
		"the other cluster is lost otherwise":  {before: is("IdentityReady", "Unreachable"), after: is("IdentityReady", "Unauthorized"), want: []transition{{"Warning", "Unauthorized", "Connect", "m"}}},
		"the other cluster is not reached yet": {before: nothing, after: is("IdentityReady", "Connecting")},
		"no Node fits yet":                     {before: nothing, after: is("KubernetesNodeReady", "WaitingForNode")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := &infrav1.Metal3Machine{}, &infrav1.Metal3Machine{}
			tc.before(before)
			tc.after(after)
			expect.Equal(t, tc.want, transitions(before, after), cmp.AllowUnexported(transition{}))
		})
	}
}

// wait shortens the cases of TestReportIdentity.
type wait = conditions.Wait

func TestReportIdentity(t *testing.T) {
	connected, lost := wait{Reason: "Connected"}, wait{Reason: "Unreachable", Message: "m"}
	for name, tc := range map[string]struct {
		before *metav1.Condition
		claims *hostclaims.Client
		given  wait
		paused bool
		want   string
	}{
		"a machine with a local host has none":           {},
		"a machine that lost its reference has it taken": {before: &metav1.Condition{Status: "False", Reason: "Unreachable"}},
		"a connection is told":                           {claims: &hostclaims.Client{}, given: connected, want: "True/Connected"},
		"a lost one is told":                             {before: &metav1.Condition{Status: "True", Reason: "Connected"}, given: lost, want: "False/Unreachable"},
		"while paused, what was known stays":             {before: &metav1.Condition{Status: "False", Reason: "Unreachable"}, paused: true, want: "False/Unreachable"},
		"a first connection is told":                     {given: wait{Reason: "Connecting"}, want: "False/Connecting"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &infrav1.Metal3Machine{}
			if tc.before != nil {
				set(m, condition(infrav1.IdentityReadyCondition, string(tc.before.Status), tc.before.Reason, tc.before.Message))
			}
			if tc.paused {
				m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			}
			updateStatus(&scope{Observed: Observed{Machine: m}, before: m.DeepCopy(), claims: tc.claims, identity: tc.given}, noon)
			c := ptr.Deref(capiconditions.Get(m, infrav1.IdentityReadyCondition), metav1.Condition{})
			expect.Equal(t, tc.want, strings.Trim(string(c.Status)+"/"+c.Reason, "/"))
		})
	}
}

// TestReportMove shows that a machine is moved neither before nor without its claim.
func TestReportMove(t *testing.T) {
	const blockMove, ours, theirs = "clusterctl.cluster.x-k8s.io/block-move", "capm3-metal3machine", "hostclaim-manager"
	waits := condition("hostclaim.metal3.io/Movable", "False", "HostNotAtRest", "the server is provisioned")
	claim := func(blocked bool, said ...metav1.Condition) *bmov1alpha1.HostClaim {
		c := &bmov1alpha1.HostClaim{Status: bmov1alpha1.HostClaimStatus{
			Conditions:    append(said, condition("Associated", "True", "BareMetalHostAssociated", "")),
			BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "n", Name: "h"},
		}}
		if blocked {
			c.Annotations = map[string]string{blockMove: theirs}
		}
		return c
	}
	unbound := claim(true)
	unbound.Status.BareMetalHost = nil
	tests := map[string]struct {
		claim  *bmov1alpha1.HostClaim
		remote bool
		unseen bool
		paused bool
		before string
		want   string
		says   []metav1.Condition
	}{
		"a claim that must not be moved keeps its machine": {claim: claim(true), want: ours},
		"a claim whose host is being bound does not yet":   {claim: unbound},
		"before a move it does":                            {claim: unbound, paused: true, want: ours},
		"a claim that waits says why on its machine":       {claim: claim(true, waits), before: ours, want: ours, says: []metav1.Condition{waits}},
		"a claim that is ready lets its machine go":        {claim: claim(false), before: ours},
		"a machine that a user blocks stays blocked":       {claim: claim(false), before: "by hand", want: "by hand"},
		"a user's block is not replaced":                   {claim: claim(true), before: "by hand", want: "by hand"},
		"a claim in another cluster keeps no machine":      {claim: claim(true, waits), remote: true, before: ours},
		"a machine without a claim can be moved":           {before: ours},
		"a claim that was not read changes nothing":        {unseen: true, before: ours, want: ours},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := started(func(p *scope) {
				p.hostClaim, p.Claim = tt.claim, claims.Read(tt.claim)
				if tt.paused {
					p.Cluster = &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
				}
				if tt.remote {
					p.Remote = &claims.Remote{}
				}
				if tt.unseen {
					p.plan = nil
				}
				if tt.before != "" {
					p.Machine.Annotations = map[string]string{blockMove: tt.before}
				}
			})
			p.Machine.Status.Conditions = nil
			reportMove(p)
			expect.Equal(t, tt.want, p.Machine.Annotations[blockMove])
			ignore := cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")
			expect.Equal(t, tt.says, p.Machine.Status.Conditions, ignore, cmpopts.EquateEmpty())
		})
	}
}

func TestReportFormer(t *testing.T) {
	for name, tc := range map[string]struct {
		given []metav1.Condition
		want  clusterv1.Conditions
	}{
		"a machine of which nothing is known says nothing": {},
		"a machine that is ready": {
			[]metav1.Condition{
				isBound, hasClaim, holding("Metal3DataReady", "SecretsSetExternally"), serverRuns, nodeFound, holding("Ready", "Ready"),
			}, clusterv1.Conditions{
				{Type: "Ready", Status: "True"},
				{Type: "AssociateBMH", Status: "True"},
				{Type: "KubernetesNodeReady", Status: "True"},
				{Type: "Metal3DataReady", Status: "True"},
			},
		},
		"a machine that waits": {
			[]metav1.Condition{waiting("AssociateBareMetalHost", "BootstrapSecretNotFound", "no secret"), waiting("Ready", "NotReady", "m")},
			clusterv1.Conditions{
				{Type: "Ready", Status: "False", Severity: "Info", Reason: "NotReady", Message: "m"},
				{Type: "AssociateBMH", Status: "False", Severity: "Info", Reason: "WaitingForBootstrapReady", Message: "no secret"},
			},
		},
		"a machine whose data cannot be asked for": {
			[]metav1.Condition{waiting("AssociateMetal3MachineMetaData", "AssociateMetal3MachineMetaDataFailed", "taken"), hasData},
			clusterv1.Conditions{{Type: "Metal3DataReady", Status: "False", Severity: "Error", Reason: "AssociateM3MetaDataFailed", Message: "taken"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			noTimes := cmpopts.IgnoreFields(clusterv1.Condition{}, "LastTransitionTime")
			expect.Equal(t, tc.want, conditions.V1Beta1(tc.given, formerRules()), noTimes, cmpopts.EquateEmpty())
		})
	}
}
