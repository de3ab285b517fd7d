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

package ippool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func request(holder string) Request {
	return Request{
		Data: &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant", Name: "nodes-0", UID: "u", Labels: map[string]string{"cluster": "a"},
		}},
		Holder: holder,
	}
}

// first is the first address of a pool.
func first(pool Pool) Ask {
	return Ask{Pool: pool}
}

// noted adds the state of the pool to the metadata of a claim.
func noted(meta metav1.ObjectMeta, state string) metav1.ObjectMeta {
	meta.Annotations = map[string]string{infrav1.PoolStateAnnotation: state}
	return meta
}

// forNetwork adds the network to the metadata of a claim.
func forNetwork(network string, meta metav1.ObjectMeta) metav1.ObjectMeta {
	metav1.SetMetaDataAnnotation(&meta, infrav1.ClaimNetworkAnnotation, network)
	return meta
}

func claimMeta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "tenant", Name: name, Labels: labels,
		Finalizers: []string{"metal3data.infrastructure.cluster.x-k8s.io"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3Data", Name: "nodes-0", UID: "u", Controller: ptr.To(true),
		}},
	}
}

func TestClaims(t *testing.T) {
	tests := map[string]struct {
		got, want any
	}{
		"an IPPool is asked by an IPClaim, which notes how the pool was then": {
			got: request("nodes-0").IPClaim(first(newPool("pool", "", "")), "now"),
			want: &ipamv1alpha1.IPClaim{
				ObjectMeta: noted(claimMeta("nodes-0-pool", map[string]string{"cluster": "a"}), "now"),
				Spec:       ipamv1alpha1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "pool", Namespace: "tenant"}},
			},
		},
		"with addresses by host name, the claim has the name of the host and says whose it is": {
			got: request("server").IPClaim(first(newPool("pool", "", "")), "now"),
			want: &ipamv1alpha1.IPClaim{
				ObjectMeta: noted(claimMeta("server-pool", map[string]string{
					"cluster": "a", infrav1.DataNameLabel: "nodes-0", infrav1.PoolNameLabel: "pool",
				}), "now"),
				Spec: ipamv1alpha1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "pool", Namespace: "tenant"}},
			},
		},
		"a second network on the pool has a claim of its own, which names it": {
			got: request("server").IPClaim(Ask{Pool: newPool("pool", "", ""), Network: "storage"}, "now"),
			want: &ipamv1alpha1.IPClaim{
				ObjectMeta: forNetwork("storage", noted(claimMeta("server-pool-storage", map[string]string{
					"cluster": "a", infrav1.DataNameLabel: "nodes-0", infrav1.PoolNameLabel: "pool",
				}), "now")),
				Spec: ipamv1alpha1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "pool", Namespace: "tenant"}},
			},
		},
		"the id of a network that cannot be part of a name is hashed": {
			got: request("nodes-0").IPAddressClaim(Ask{Pool: newPool("pool", "g", "K"), Network: "Storage_1"}),
			want: &capipamv1.IPAddressClaim{
				ObjectMeta: forNetwork("Storage_1", claimMeta("nodes-0-pool-6e78c8d1", map[string]string{"cluster": "a"})),
				Spec:       capipamv1.IPAddressClaimSpec{PoolRef: capipamv1.IPPoolReference{Name: "pool", Kind: "K", APIGroup: "g"}},
			},
		},
		"every other pool is asked by an IPAddressClaim": {
			got: request("nodes-0").IPAddressClaim(first(newPool("pool", "ipam.cluster.x-k8s.io", "InClusterIPPool"))),
			want: &capipamv1.IPAddressClaim{
				ObjectMeta: claimMeta("nodes-0-pool", map[string]string{"cluster": "a"}),
				Spec: capipamv1.IPAddressClaimSpec{PoolRef: capipamv1.IPPoolReference{
					Name: "pool", Kind: "InClusterIPPool", APIGroup: "ipam.cluster.x-k8s.io",
				}},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, tc.got) })
	}
}

func TestLongNamesAreCutAndStayApart(t *testing.T) {
	long := strings.Repeat("a", 250)
	one, other := request(long).ClaimName(first(newPool("pool-1", "", ""))), request(long).ClaimName(first(newPool("pool-2", "", "")))
	expect.That(t, len(one) == 253 && one != other, "%q and %q", one, other)
	r := request("server")
	r.Data.Labels = nil
	r.Data.Name = long
	label := r.IPClaim(first(newPool("pool", "", "")), "now").Labels[infrav1.DataNameLabel]
	expect.That(t, len(label) == 63, "label %q", label)
}

func TestAnswers(t *testing.T) {
	ready := func(status metav1.ConditionStatus, message string) capipamv1.IPAddressClaim {
		return capipamv1.IPAddressClaim{Status: capipamv1.IPAddressClaimStatus{Conditions: []metav1.Condition{
			{Type: "Ready", Status: status, Reason: "PoolExhausted", Message: message},
		}}}
	}
	exhausted, terse, pending := ready("False", "no address left"), ready("False", ""), ready("Unknown", "soon")
	tests := map[string]struct {
		got, want Answer
	}{
		"an IPClaim that is new":     {got: AnswerOf(&ipamv1alpha1.IPClaim{})},
		"an IPClaim with an address": {got: AnswerOf(&ipamv1alpha1.IPClaim{Status: ipamv1alpha1.IPClaimStatus{Address: &corev1.ObjectReference{Name: "a"}}}), want: Answer{AddressName: "a"}},
		"an IPClaim with an error":   {got: AnswerOf(&ipamv1alpha1.IPClaim{Status: ipamv1alpha1.IPClaimStatus{ErrorMessage: ptr.To("full")}}), want: Answer{Problem: "full"}},
		"an IPClaim with an address and an error has its address": {
			got: AnswerOf(&ipamv1alpha1.IPClaim{Status: ipamv1alpha1.IPClaimStatus{
				Address: &corev1.ObjectReference{Name: "a"}, ErrorMessage: ptr.To("cannot be taken back"),
			}}),
			want: Answer{AddressName: "a"},
		},
		"an IPAddressClaim that is new": {got: AnswerOf(&capipamv1.IPAddressClaim{})},
		"an IPAddressClaim with an address": {
			got:  AnswerOf(&capipamv1.IPAddressClaim{Status: capipamv1.IPAddressClaimStatus{AddressRef: capipamv1.IPAddressReference{Name: "a"}}}),
			want: Answer{AddressName: "a"},
		},
		"an IPAddressClaim that is refused":               {got: AnswerOf(&exhausted), want: Answer{Problem: "no address left"}},
		"an IPAddressClaim that is refused without words": {got: AnswerOf(&terse), want: Answer{Problem: "PoolExhausted"}},
		"an IPAddressClaim in the making":                 {got: AnswerOf(&pending)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, tc.got) })
	}
}

func TestAddresses(t *testing.T) {
	gateway := ipamv1alpha1.IPAddressStr("192.0.2.1")
	metal3 := FromMetal3Address(&ipamv1alpha1.IPAddress{Spec: ipamv1alpha1.IPAddressSpec{
		Address: "192.0.2.10", Prefix: 24, Gateway: &gateway, DNSServers: []ipamv1alpha1.IPAddressStr{"192.0.2.53"},
	}})
	want := metadata.Address{Address: "192.0.2.10", Prefix: 24, Gateway: "192.0.2.1", DNSServers: []string{"192.0.2.53"}}
	expect.Equal(t, want, metal3)
	bare := FromMetal3Address(&ipamv1alpha1.IPAddress{})
	expect.That(t, cmp.Equal(bare, metadata.Address{}), "an empty address is %+v", bare)
	capi := FromCAPIAddress(&capipamv1.IPAddress{Spec: capipamv1.IPAddressSpec{Address: "::2", Prefix: ptr.To[int32](64), Gateway: "::1"}})
	expect.Equal(t, metadata.Address{Address: "::2", Prefix: 64, Gateway: "::1"}, capi)
}

func TestNext(t *testing.T) {
	metal3, other := newPool("pool", "", ""), newPool("pool", "ipam.cluster.x-k8s.io", "InClusterIPPool")
	answered, refused := Answer{AddressName: "a"}, Answer{Problem: "exhausted"}
	askAgain := Step{
		Release: true, Reason: infrav1.WaitingForAddressesReason,
		Message: `IPClaim "c" was refused, it says "exhausted"; the pool has changed since, so a new one follows`,
	}
	const waiting = "Waiting for an address of IPPool.ipam.metal3.io \"pool\""
	tests := map[string]struct {
		given Observed
		want  Step
	}{
		"asks a pool that exists": {
			given: Observed{Ask: first(metal3)},
			want:  Step{Apply: true, Reason: infrav1.WaitingForAddressesReason, Message: waiting},
		},
		"waits for the answer without asking again": {
			given: Observed{Ask: first(metal3), Claim: ClaimHeld},
			want:  Step{Reason: infrav1.WaitingForAddressesReason, Message: waiting},
		},
		"says for which network it waits, where there are several": {
			given: Observed{Ask: Ask{Pool: metal3, Network: "n"}, Claim: ClaimHeld},
			want:  Step{Reason: infrav1.WaitingForAddressesReason, Message: waiting + ` for network "n"`},
		},
		"reads the address": {
			given: Observed{Ask: first(metal3), Claim: ClaimHeld, Answer: answered},
			want:  Step{Read: "a"},
		},
		"an address is ours even if the pool is gone": {
			given: Observed{Ask: first(metal3), Claim: ClaimHeld, Answer: answered, PoolMissing: true},
			want:  Step{Read: "a"},
		},
		"an address stays ours when its claim is deleted": {
			given: Observed{Ask: first(metal3), Claim: ClaimDying, Answer: answered},
			want:  Step{Read: "a"},
		},
		"lets a claim go that was deleted before it was answered": {
			given: Observed{Ask: first(metal3), Claim: ClaimDying, ClaimName: "c"},
			want: Step{
				Release: true, Reason: infrav1.WaitingForAddressesReason,
				Message: `IPClaim "c" was deleted before it was answered, a new one follows`,
			},
		},
		"never takes over a claim of something else, answered or not": {
			given: Observed{Ask: first(other), Claim: ClaimForeign, ClaimName: "c", Answer: answered},
			want: Step{
				Reason:  infrav1.AddressUnavailableReason,
				Message: `IPAddressClaim "c" belongs to something else: it must be deleted before pool "pool" can be asked`,
			},
		},
		"names a pool that is missing": {
			given: Observed{Ask: first(metal3), Namespace: "tenant", PoolMissing: true},
			want: Step{
				Reason:  infrav1.PoolNotFoundReason,
				Message: `There is no IPPool.ipam.metal3.io "pool" in namespace "tenant": create it`,
			},
		},
		"passes on what the pool complains about, and asks again when the pool changes": {
			given: Observed{Ask: first(metal3), Claim: ClaimHeld, ClaimName: "c", Answer: refused, PoolState: "full", AskedState: "full"},
			want: Step{
				Reason:  infrav1.AddressUnavailableReason,
				Message: `IPPool.ipam.metal3.io "pool" gives no address, it says "exhausted": extend the pool, or free an address of it`,
			},
		},
		"gives a refused claim back once the pool has changed": {
			given: Observed{Ask: first(metal3), Claim: ClaimHeld, ClaimName: "c", Answer: refused, PoolState: "larger", AskedState: "full"},
			want:  askAgain,
		},
		"gives a refused claim back if the state of the pool was not recorded": {
			given: Observed{Ask: first(metal3), Claim: ClaimHeld, ClaimName: "c", Answer: refused, PoolState: "full"},
			want:  askAgain,
		},
		"keeps a refused claim while its pool is missing": {
			given: Observed{Ask: first(metal3), Namespace: "tenant", Claim: ClaimHeld, ClaimName: "c", Answer: refused, PoolMissing: true, AskedState: "full"},
			want: Step{
				Reason:  infrav1.PoolNotFoundReason,
				Message: `There is no IPPool.ipam.metal3.io "pool" in namespace "tenant": create it`,
			},
		},
		"keeps an address however the pool changes": {
			given: Observed{Ask: first(metal3), Claim: ClaimHeld, Answer: answered, PoolState: "larger", AskedState: "full"},
			want:  Step{Read: "a"},
		},
		"keeps a claim that is not answered yet however the pool changes": {
			given: Observed{Ask: first(metal3), Claim: ClaimHeld, PoolState: "larger", AskedState: "full"},
			want:  Step{Reason: infrav1.WaitingForAddressesReason, Message: waiting},
		},
		"leaves a claim on another kind of pool to its provider": {
			given: Observed{Ask: first(other), Claim: ClaimHeld, ClaimName: "c", Answer: refused},
			want: Step{
				Reason: infrav1.AddressUnavailableReason,
				Message: `InClusterIPPool.ipam.cluster.x-k8s.io "pool" gives no address, it says "exhausted": mend the pool; ` +
					`if its provider does not try again by itself, delete IPAddressClaim "c"`,
			},
		},
		"names ip-address-manager if it is not installed": {
			given: Observed{Ask: first(metal3), APIMissing: true, PoolMissing: true},
			want: Step{
				Reason:  infrav1.PoolAPIMissingReason,
				Message: `IPPool.ipam.metal3.io "pool" cannot be asked, the cluster does not know IPClaims of group ipam.metal3.io: install ip-address-manager`,
			},
		},
		"names Cluster API's IPAM if it is not installed": {
			given: Observed{Ask: first(other), APIMissing: true},
			want: Step{
				Reason:  infrav1.PoolAPIMissingReason,
				Message: `InClusterIPPool.ipam.cluster.x-k8s.io "pool" cannot be asked, the cluster does not know IPAddressClaims of group ipam.cluster.x-k8s.io: install an IPAM provider of Cluster API`,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Next(tc.given)) })
	}
}

// TestUnfit shows when an address that cannot be used is given back: never twice for one spec.
func TestUnfit(t *testing.T) {
	pool := newPool("pool", "", "")
	state := func(uid types.UID, generation int64, holder string) string {
		return State(&ipamv1alpha1.IPPool{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation},
			Status:     ipamv1alpha1.IPPoolStatus{Allocations: map[string]ipamv1alpha1.IPAddressStr{holder: "192.0.2.10"}},
		})
	}
	asked := state("u", 1, "a")
	tests := map[string]struct {
		given   Observed
		release bool
		message string
	}{
		"waits for the pool to be mended":             {Observed{Claim: ClaimHeld, AskedState: asked, PoolState: asked}, false, "once its spec has changed"},
		"other claims on the pool change nothing":     {Observed{Claim: ClaimHeld, AskedState: asked, PoolState: state("u", 1, "b")}, false, "once its spec has changed"},
		"asks a pool that was mended":                 {Observed{Claim: ClaimHeld, AskedState: asked, PoolState: state("u", 2, "a")}, true, "a new IPClaim follows"},
		"asks another pool of the name":               {Observed{Claim: ClaimHeld, AskedState: asked, PoolState: state("v", 1, "a")}, true, "a new IPClaim follows"},
		"keeps the address of a pool that is gone":    {Observed{Claim: ClaimHeld, AskedState: asked}, false, "once its spec has changed"},
		"asks where its user has deleted the claim":   {Observed{Claim: ClaimDying, AskedState: asked, PoolState: asked}, true, `"c" was deleted`},
		"names the remedy where no state is recorded": {Observed{Claim: ClaimHeld, PoolState: asked}, false, `delete IPClaim "c"`},
		"names the remedy for pools of other providers": {
			Observed{Ask: Ask{Pool: newPool("pool", "ipam.cluster.x-k8s.io", "InClusterIPPool")}, Claim: ClaimHeld}, false, `delete IPAddressClaim "c"`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.given.Name == "" {
				tc.given.Ask = Ask{Pool: pool}
			}
			tc.given.ClaimName = "c"
			step := Unfit(tc.given, "unfit")
			if step.Release != tc.release || step.Apply || step.Reason != infrav1.RenderingFailedReason ||
				!strings.HasPrefix(step.Message, "unfit; ") || !strings.Contains(step.Message, tc.message) {
				t.Errorf("step is %+v", step)
			}
		})
	}
}

func TestState(t *testing.T) {
	pool := func(change func(*ipamv1alpha1.IPPool)) string {
		p := &ipamv1alpha1.IPPool{
			ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1, ResourceVersion: "7"},
			Status:     ipamv1alpha1.IPPoolStatus{Allocations: map[string]ipamv1alpha1.IPAddressStr{"b": "192.0.2.11", "a": "192.0.2.10"}},
		}
		change(p)
		return State(p)
	}
	before := pool(func(*ipamv1alpha1.IPPool) {})
	tests := map[string]struct {
		change func(*ipamv1alpha1.IPPool)
		same   bool
	}{
		"a refused claim that goes changes nothing": {
			change: func(p *ipamv1alpha1.IPPool) { p.ResourceVersion, p.Status.LastUpdated = "8", ptr.To(metav1.Now()) },
			same:   true,
		},
		"another spec is a change":          {change: func(p *ipamv1alpha1.IPPool) { p.Generation = 2 }},
		"another pool of the name is":       {change: func(p *ipamv1alpha1.IPPool) { p.UID = "v" }},
		"an address that was given back is": {change: func(p *ipamv1alpha1.IPPool) { delete(p.Status.Allocations, "a") }},
		"an address that was taken is":      {change: func(p *ipamv1alpha1.IPPool) { p.Status.Allocations["c"] = "192.0.2.12" }},
		"an address that changed hands is": {change: func(p *ipamv1alpha1.IPPool) {
			p.Status.Allocations = map[string]ipamv1alpha1.IPAddressStr{"b": "192.0.2.11", "c": "192.0.2.10"}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			after := pool(tc.change)
			expect.That(t, (after == before) == tc.same, "%q after %q", after, before)
		})
	}
}

func TestDataOf(t *testing.T) {
	metal3, other := newPool("pool", "", ""), newPool("six", "ipam.cluster.x-k8s.io", "InClusterIPPool")
	long := request("host-0")
	long.Data.Name = strings.Repeat("n", maxLabel+1)
	cut := request("nodes-0")
	cut.Data.Name = strings.Repeat("n", maxName)
	cut.Holder = cut.Data.Name
	tests := map[string]struct {
		claim metav1.Object
		want  string // empty if it is not known
	}{
		"by the name of a claim":                         {request("nodes-0").IPClaim(first(metal3), ""), "nodes-0"},
		"by that of one for a network":                   {request("nodes-0").IPClaim(Ask{Pool: metal3, Network: "Storage 1"}, ""), "nodes-0"},
		"by that of one for another provider":            {request("nodes-0").IPAddressClaim(first(other)), "nodes-0"},
		"by the label of a claim named after its host":   {request("host-0").IPClaim(first(metal3), ""), "nodes-0"},
		"not by a label that was cut":                    {long.IPClaim(first(metal3), ""), ""},
		"not by a name that was cut":                     {cut.IPClaim(first(metal3), ""), ""},
		"not by a name that does not follow from a pool": {&ipamv1alpha1.IPClaim{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, known := DataOf(tc.claim)
			expect.That(t, known == (tc.want != "") && (!known || got == tc.want), "the data is %q, known: %v", got, known)
		})
	}
}

func TestRoom(t *testing.T) {
	for unanswered, want := range map[int]int{0: 2, 3: 2, 4: 1, 5: 0, 5000: 0} {
		got := Room(unanswered)
		expect.That(t, got == want, "room beside %d: %d, want %d", unanswered, got, want)
	}
	asked := request("nodes-0").IPClaim(first(newPool("pool", "", "")), "")
	expect.That(t, Unanswered(asked), "a new claim counts as answered")
	for what, change := range map[string]func(*ipamv1alpha1.IPClaim){
		"given":    func(c *ipamv1alpha1.IPClaim) { c.Status.Address = &corev1.ObjectReference{Name: "a"} },
		"refused":  func(c *ipamv1alpha1.IPClaim) { c.Status.ErrorMessage = ptr.To("Exhausted") },
		"deleted":  func(c *ipamv1alpha1.IPClaim) { c.DeletionTimestamp = ptr.To(metav1.Now()) },
		"a user's": func(c *ipamv1alpha1.IPClaim) { c.Finalizers = nil },
	} {
		c := asked.DeepCopy()
		if change(c); Unanswered(c) {
			t.Errorf("a claim that is %s counts", what)
		}
	}
	ready := metav1.Condition{Type: capipamv1.IPAddressClaimReadyCondition, Status: metav1.ConditionFalse, Reason: "Full"}
	other := request("nodes-0").IPAddressClaim(first(newPool("six", "ipam.cluster.x-k8s.io", "InClusterIPPool")))
	expect.That(t, Unanswered(other), "a new claim of another provider counts as answered")
	other.Status.Conditions = []metav1.Condition{ready}
	expect.That(t, !Unanswered(other), "a claim that another provider refused counts")
}
