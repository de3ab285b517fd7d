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
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const rowLabel = "rack.example/row"

// isUncleaned has the workers keep what is on their servers as long as these stay with them. A server that
// leaves them is cleaned, and stays on for the next tenant if its administrator wants that.
func (l *lifeStory) isUncleaned(t *testing.T, hosts *side) {
	policy := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: l.pool.Namespace, Name: "tenants"}}
	annotate(t, l.admin, policy, infrav1.AllowSkipCleaningAnnotation, "true")
	expect.NoError(t, l.cluster.Create(t.Context(), lab.Repo, l.Tenant, func(object *unstructured.Unstructured) {
		if object.GetKind() == "Metal3MachineTemplate" {
			expect.NoError(t, unstructured.SetNestedField(object.Object, string(bmov1alpha1.CleaningModeDisabled), "spec", "template", "spec", "automatedCleaningMode"))
		}
	}))
	l.runsIn(t, l.world)

	before := l.servers(t)[worker]
	seen := l.seen(before)
	expect.NoError(t, l.cluster.KeepServers(t.Context(), l.Tenant))
	expect.NoError(t, l.cluster.RollWorkers(t.Context(), l.Tenant))
	l.areReplaced(t, worker, before, imageOn(before[0]))
	l.runsIn(t, l.world)
	l.keepServers(t, worker, before)
	l.isQuiet(t)
	l.wereCleaned(t, seen, bmov1alpha1.CleaningModeDisabled)

	for _, m := range before {
		annotate(t, l.admin, m.Host, infrav1.FastTrackAnnotation, "true")
	}
	seen = l.seen(before)
	var err error
	l.cluster, err = l.cluster.ScaleWorkers(t.Context(), l.Tenant, 1)
	expect.NoError(t, err)
	l.runsIn(t, l.world)
	kept := hostNames(l.servers(t)[worker])
	for _, m := range before {
		if slices.Contains(kept, m.Host.Name) {
			delete(seen, client.ObjectKeyFromObject(m.Host))
		}
	}
	for key := range seen {
		l.staysOn(t, key)
		l.servesAnother(t, hosts, key)
	}
	l.wereCleaned(t, seen, bmov1alpha1.CleaningModeMetadata)
}

// wereCleaned checks that servers were emptied since they were seen that often, and with which cleaning.
func (l *lifeStory) wereCleaned(t *testing.T, seen map[client.ObjectKey]int, want bmov1alpha1.AutomatedCleaningMode) {
	t.Helper()
	expect.That(t, len(seen) != 0, "no server was emptied")
	for key, from := range seen {
		emptied := false
		for _, host := range l.history.versions(key, from) {
			if host.Status.Provisioning.State != bmov1alpha1.StateDeprovisioning {
				continue
			}
			emptied = true
			mode := host.Spec.AutomatedCleaningMode
			expect.That(t, mode == want, "server %s was emptied with cleaning mode %q, want %q", key, mode, want)
		}
		expect.That(t, emptied, "server %s was not emptied", key)
	}
}

// staysOn waits until a server is free and on.
func (l *lifeStory) staysOn(t *testing.T, key client.ObjectKey) {
	t.Helper()
	eventually(t, "server "+key.Name+" is free and on", func(g gomega.Gomega) {
		host := &bmov1alpha1.BareMetalHost{}
		g.Expect(l.world.Hosts.Get(t.Context(), key, host)).To(gomega.Succeed())
		g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil())
		g.Expect(remains(host)).To(gomega.BeEmpty())
		g.Expect(host.Status.PoweredOn).To(gomega.BeTrue())
	})
}

// servesAnother lets another tenant have the server, and no other one.
func (l *lifeStory) servesAnother(t *testing.T, hosts *side, key client.ObjectKey) {
	t.Helper()
	other, err := story.AddTenant(t.Context(), l.admin, hosts.Cluster, l.Namespace+"-next")
	expect.NoError(t, err)
	policy := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: l.pool.Namespace, Name: "tenants"}}
	expect.NoError(t, l.admin.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec": {"hostClaimNamespaces": {"names": ["`+l.Namespace+`", "`+other.Namespace+`"]}}}`))))
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	merge(t, l.admin, host, map[string]any{"labels": map[string]any{rowLabel: "next"}})
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: other.Namespace, Name: "next"},
		Spec: bmov1alpha1.HostClaimSpec{
			HostSelector: bmov1alpha1.HostSelector{MatchLabels: map[string]string{rowLabel: "next"}},
			Image:        &bmov1alpha1.Image{URL: nextImage, Checksum: nextImage + ".sha256sum"},
			PoweredOn:    true,
		},
	}
	expect.NoError(t, other.Client.Create(t.Context(), claim))
	eventually(t, "another tenant has server "+key.Name, func(g gomega.Gomega) {
		g.Expect(l.world.Hosts.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(gomega.Succeed())
		g.Expect(meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.ReadyCondition)).To(gomega.BeTrue())
		g.Expect(claim.Status.BareMetalHost).To(gomega.HaveValue(gomega.Equal(bmov1alpha1.ObjectReference{Namespace: key.Namespace, Name: key.Name})))
	})
}
