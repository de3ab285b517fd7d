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

package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// shortageIsExplained lets b grow by two while one server is free, and reads as
// tenant b why the second machine waits.
func (p *play) shortageIsExplained(t *testing.T) {
	p.b.scale(t, p.b.cluster.Workers+2)
	waiting, _, err := story.WaitForShortage(limited(t), lab.world, p.pool, p.b.Namespace)
	must(t, err)
	const why = "8 hosts seen: 8 in use"
	eventually(t, "the explanation reaches the Machine", func(g gomega.Gomega) {
		claim, metal3, machine := &bmov1alpha1.HostClaim{}, &infrav1.Metal3Machine{}, &clusterv1.Machine{}
		g.Expect(p.b.Client.Get(t.Context(), client.ObjectKeyFromObject(waiting.Claim), claim)).To(gomega.Succeed())
		g.Expect(p.b.Client.Get(t.Context(), client.ObjectKeyFromObject(waiting.Metal3), metal3)).To(gomega.Succeed())
		g.Expect(p.b.Client.Get(t.Context(), client.ObjectKeyFromObject(waiting.Machine), machine)).To(gomega.Succeed())
		no := func(kind, reason string) metav1.Condition {
			return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason}
		}
		says(g, claim.Status.Conditions, no(bmov1alpha1.AssociatedCondition, bmov1alpha1.NoBareMetalHostReason), why)
		says(g, metal3.Status.Conditions, no(infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimNotBoundReason), why)
		says(g, metal3.Status.Conditions, no(infrav1.ReadyCondition, infrav1.HostClaimNotBoundReason), why)
		says(g, machine.Status.Conditions, no(clusterv1.MachineInfrastructureReadyCondition, infrav1.HostClaimNotBoundReason), why)
	})
}

// serverChangesHands lets a shrink by one, and follows the server that this
// frees to the machine of b that waits.
func (p *play) serverChangesHands(t *testing.T) {
	waiting := p.b.waiting(t)
	before := map[types.UID]world.Machine{}
	for _, m := range p.a.machines(t) {
		before[m.UID()] = m
	}
	p.a.scale(t, p.a.cluster.Workers-1)
	p.a.runs(t)
	p.b.runs(t)
	for _, m := range p.a.machines(t) {
		delete(before, m.UID())
	}
	if len(before) != 1 {
		t.Fatalf("%d machines of a have gone, and one should have", len(before))
	}
	for _, gone := range before {
		p.checkHandover(t, gone, waiting)
	}
	for _, m := range p.b.machines(t) {
		conditionsHold(t, m)
	}
}

// checkHandover looks at every version of the server from the first in which it
// is not a's any more. What a release must leave behind, secrets included, is
// checked for every release of the run, see history.
func (p *play) checkHandover(t *testing.T, gone, waiting world.Machine) {
	t.Helper()
	key := client.ObjectKeyFromObject(gone.Host)
	after := lab.history.since(key, gone.Claim.UID)
	if len(after) == 0 {
		t.Fatalf("host %s was never freed by claim %s", key, gone.Claim.Name)
	}
	freed := after[0]
	if diff := cmp.Diff([]any{bmov1alpha1.CleaningModeDisabled, []string(nil), false}, []any{freed.Spec.AutomatedCleaningMode, ourKeys(freed), freed.Spec.Online}); diff != "" {
		t.Errorf("cleaning mode, keys of ours and power of the freed host (-want +got):\n%s", diff)
	}
	if rest := remains(freed); rest != "" {
		t.Errorf("the host was freed with %s", rest)
	}
	var next *bmov1alpha1.BareMetalHost
	for _, host := range after {
		if host.Spec.ConsumerRef != nil {
			next = host
			break
		}
	}
	if next == nil {
		t.Fatalf("host %s was freed and not bound again", key)
	}
	want := fmt.Sprintf("%s/%s/%s", waiting.Claim.Namespace, waiting.Claim.Name, waiting.Claim.UID)
	ref := next.Spec.ConsumerRef
	if got := fmt.Sprintf("%s/%s/%s", ref.Namespace, ref.Name, ref.UID); got != want {
		t.Errorf("the freed host went to %s, and %s waited for it", got, want)
	}
	eventually(t, "no invariant is broken", func(g gomega.Gomega) {
		g.Expect(lab.history.violations()).To(gomega.BeEmpty())
	})
}

// waiting returns the machine of the tenant that has no host.
func (a *actor) waiting(t *testing.T) world.Machine {
	t.Helper()
	for _, m := range a.machines(t) {
		if _, waits := m.WaitsForHost(); waits {
			return m
		}
	}
	t.Fatalf("no machine of %s waits for a host", a.Namespace)
	return world.Machine{}
}

func (a *actor) scale(t *testing.T, workers int) {
	t.Helper()
	var err error
	a.cluster, err = a.cluster.ScaleWorkers(t.Context(), a.Tenant, workers)
	must(t, err)
}

// since returns the versions of a host from the one on in which a claim that had
// it does not have it any more.
func (h *history) since(key client.ObjectKey, claim types.UID) []*bmov1alpha1.BareMetalHost {
	h.mu.Lock()
	defer h.mu.Unlock()
	had := false
	for i, host := range h.hosts[key] {
		has := host.Spec.ConsumerRef != nil && host.Spec.ConsumerRef.UID == claim
		if had && !has {
			return h.hosts[key][i:]
		}
		had = has
	}
	return nil
}
