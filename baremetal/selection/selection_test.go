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

package selection

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	operators "k8s.io/apimachinery/pkg/selection"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// edit changes a host before it is stripped.
type edit func(*bmov1alpha1.BareMetalHost)

// newHost returns a free host of namespace infra.
func newHost(name string, edits ...edit) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: "infra", Name: name, Labels: map[string]string{}, Annotations: map[string]string{},
	}}
	h.Status.Provisioning.State = bmov1alpha1.StateAvailable
	for _, e := range edits {
		e(h)
	}
	binding.StripHost(h)
	return h
}

func label(key, value string) edit {
	return func(h *bmov1alpha1.BareMetalHost) { h.Labels[key] = value }
}

func annotation(key, value string) edit {
	return func(h *bmov1alpha1.BareMetalHost) { h.Annotations[key] = value }
}

func state(s bmov1alpha1.ProvisioningState) edit {
	return func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.State = s }
}

func used(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef = &corev1.ObjectReference{Name: "x"} }

func failed(h *bmov1alpha1.BareMetalHost) { h.Status.ErrorMessage = "no power" }

type claimEdit func(*bmov1alpha1.HostClaim)

func newClaim(edits ...claimEdit) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	for _, e := range edits {
		e(c)
	}
	return c
}

func wants(key string, op operators.Operator, values ...string) claimEdit {
	return func(c *bmov1alpha1.HostClaim) {
		c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
			bmov1alpha1.HostSelectorRequirement{Key: key, Operator: op, Values: values})
	}
}

func wantsLabel(key, value string) claimEdit {
	return func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchLabels = map[string]string{key: value} }
}

func wantsNamespace(name string) claimEdit {
	return func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = name }
}

func wantsDomain(name string) claimEdit {
	return func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = name }
}

func softly(c *bmov1alpha1.HostClaim) { c.Annotations[infrav1.SoftFailureDomainAnnotation] = "true" }

func criteria(t *testing.T, edits ...claimEdit) Criteria {
	t.Helper()
	c, err := Parse(newClaim(edits...))
	expect.NoError(t, err)
	return c
}

func TestFree(t *testing.T) {
	tests := map[string]struct {
		edits []edit
		want  Misfit
	}{
		"an available host":                        {nil, ""},
		"a ready host":                             {[]edit{state(bmov1alpha1.StateReady)}, ""},
		"not one with a consumer":                  {[]edit{used, failed}, InUse},
		"not one that is being deleted":            {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }}, BeingDeleted},
		"not a paused one":                         {[]edit{annotation(bmov1alpha1.PausedAnnotation, "")}, Paused},
		"not one to be detached":                   {[]edit{annotation(bmov1alpha1.DetachedAnnotation, "")}, Detached},
		"not a detached one":                       {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Status.OperationalStatus = bmov1alpha1.OperationalStatusDetached }}, Detached},
		"not an unhealthy one":                     {[]edit{annotation(infrav1.UnhealthyAnnotation, "")}, Unhealthy},
		"not one with the older mark of unhealthy": {[]edit{annotation(infrav1.DeprecatedUnhealthyAnnotation, "")}, Unhealthy},
		"not a reserved one":                       {[]edit{label(infrav1.NodeReuseLabel, "md-0")}, Reserved},
		"not an externally provisioned one":        {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Spec.ExternallyProvisioned = true }}, ExternallyProvisioned},
		"not one with an error":                    {[]edit{failed, state(bmov1alpha1.StateInspecting)}, InError},
		"not one in operational error":             {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Status.OperationalStatus = bmov1alpha1.OperationalStatusError }}, InError},
		"not one being inspected":                  {[]edit{state(bmov1alpha1.StateInspecting)}, NotAvailable},
		"not one being serviced": {[]edit{func(h *bmov1alpha1.BareMetalHost) {
			h.Status.OperationalStatus = bmov1alpha1.OperationalStatusServicing
		}}, NotAvailable},
		"not one to be inspected again":           {[]edit{annotation(bmov1alpha1.InspectAnnotationPrefix, "")}, InspectionRequested},
		"one whose inspection is switched off":    {[]edit{annotation(bmov1alpha1.InspectAnnotationPrefix, "disabled")}, ""},
		"not one with an image":                   {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = &bmov1alpha1.Image{} }}, HoldingData},
		"not one with custom deploy":              {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{} }}, HoldingData},
		"not one with user data":                  {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Spec.UserData = &corev1.SecretReference{} }}, HoldingData},
		"not one with metadata":                   {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Spec.MetaData = &corev1.SecretReference{} }}, HoldingData},
		"not one with network data":               {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Spec.NetworkData = &corev1.SecretReference{} }}, HoldingData},
		"not one that was not cleaned":            {[]edit{annotation(infrav1.UncleanedAnnotation, "uid")}, HoldingData},
		"not one that still runs an image":        {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.Image.URL = "u" }}, HoldingData},
		"not one that still runs a custom deploy": {[]edit{func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.CustomDeploy = &bmov1alpha1.CustomDeploy{} }}, HoldingData},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Free(newHost("h", tt.edits...))) })
	}
}

func TestFits(t *testing.T) {
	host := newHost("h", label("rack", "a1"), label("slot", "7"), label(infrav1.FailureDomainLabel, "fd-1"))
	tests := map[string]struct {
		claim []claimEdit
		want  Misfit
	}{
		"a claim without wishes":           {nil, ""},
		"matchLabels":                      {[]claimEdit{wantsLabel("rack", "a1")}, ""},
		"not other matchLabels":            {[]claimEdit{wantsLabel("rack", "a2")}, "without label rack=a2"},
		"in":                               {[]claimEdit{wants("rack", "in", "a1", "a2")}, ""},
		"In, as Kubernetes writes it":      {[]claimEdit{wants("rack", "In", "a2")}, "not matching rack in (a2)"},
		"notin":                            {[]claimEdit{wants("rack", "notin", "a2")}, ""},
		"NotIn":                            {[]claimEdit{wants("rack", "NotIn", "a1")}, "not matching rack notin (a1)"},
		"exists":                           {[]claimEdit{wants("rack", "exists")}, ""},
		"Exists":                           {[]claimEdit{wants("row", "Exists")}, "without label row"},
		"!":                                {[]claimEdit{wants("row", "!")}, ""},
		"DoesNotExist":                     {[]claimEdit{wants("rack", "DoesNotExist")}, "with label rack"},
		"=":                                {[]claimEdit{wants("rack", "=", "a1")}, ""},
		"==":                               {[]claimEdit{wants("rack", "==", "a2")}, "without label rack==a2"},
		"!=":                               {[]claimEdit{wants("rack", "!=", "a1")}, "not matching rack!=a1"},
		"gt":                               {[]claimEdit{wants("slot", "gt", "6")}, ""},
		"Gt":                               {[]claimEdit{wants("slot", "Gt", "7")}, "not matching slot>7"},
		"lt":                               {[]claimEdit{wants("slot", "lt", "8")}, ""},
		"Lt":                               {[]claimEdit{wants("slot", "Lt", "7")}, "not matching slot<7"},
		"its namespace":                    {[]claimEdit{wantsNamespace("infra")}, ""},
		"not another namespace":            {[]claimEdit{wantsNamespace("other")}, "outside namespace other"},
		"its failure domain":               {[]claimEdit{wantsDomain("fd-1")}, ""},
		"not another failure domain":       {[]claimEdit{wantsDomain("fd-2")}, "outside failure domain fd-2"},
		"another domain when it is a wish": {[]claimEdit{wantsDomain("fd-2"), softly}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Fits(criteria(t, tt.claim...), host)) })
	}
}

func TestSelect(t *testing.T) {
	domain := func(name, fd string) *bmov1alpha1.BareMetalHost {
		return newHost(name, label(infrav1.FailureDomainLabel, fd))
	}
	tests := map[string]struct {
		claim []claimEdit
		hosts []*bmov1alpha1.BareMetalHost
		want  string
	}{
		"nothing from nothing":                     {nil, nil, ""},
		"the first that fits":                      {nil, []*bmov1alpha1.BareMetalHost{newHost("a", used), newHost("b"), newHost("c")}, "b"},
		"nothing when none fits":                   {[]claimEdit{wantsLabel("rack", "a1")}, []*bmov1alpha1.BareMetalHost{newHost("a"), newHost("b")}, ""},
		"only the failure domain":                  {[]claimEdit{wantsDomain("2")}, []*bmov1alpha1.BareMetalHost{domain("a", "1"), domain("b", "2")}, "b"},
		"nothing of another failure domain":        {[]claimEdit{wantsDomain("3")}, []*bmov1alpha1.BareMetalHost{domain("a", "1")}, ""},
		"the preferred failure domain first":       {[]claimEdit{wantsDomain("2"), softly}, []*bmov1alpha1.BareMetalHost{domain("a", "1"), domain("b", "2")}, "b"},
		"another when the preferred has nothing":   {[]claimEdit{wantsDomain("3"), softly}, []*bmov1alpha1.BareMetalHost{domain("a", "1"), domain("b", "2")}, "a"},
		"without a domain the softness is nothing": {[]claimEdit{softly}, []*bmov1alpha1.BareMetalHost{newHost("a")}, "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			host, found := Select(criteria(t, tt.claim...), slices.Values(tt.hosts))
			expect.That(t, found == (tt.want != "") && (!found || host.Name == tt.want), "Select() = %v, %t, want %q", host, found, tt.want)
		})
	}
}

func TestSelectReadsNoFurtherThanItMust(t *testing.T) {
	read := 0
	var hosts iter.Seq[*bmov1alpha1.BareMetalHost] = func(yield func(*bmov1alpha1.BareMetalHost) bool) {
		for range 10_000 {
			if read++; !yield(newHost("a")) {
				return
			}
		}
	}
	_, found := Select(Criteria{}, hosts)
	expect.That(t, found && read == 1, "read %d hosts, found %t, want the first and no more", read, found)
}

// A pool has thousands of hosts, and every claim that waits goes through them.
func TestNoMemoryIsTakenForEachHost(t *testing.T) {
	c := criteria(t, wantsLabel("rack", "a1"), wantsLabel("size", "large"))
	host := newHost("a", label("rack", "a1"))
	allocations := testing.AllocsPerRun(100, func() { Fits(c, host) })
	expect.That(t, allocations == 0, "%.0f pieces of memory for one host", allocations)
}

func TestExplain(t *testing.T) {
	many := func(n int, edits ...edit) []*bmov1alpha1.BareMetalHost {
		var out []*bmov1alpha1.BareMetalHost
		for range n {
			out = append(out, newHost("h", edits...))
		}
		return out
	}
	tests := map[string]struct {
		claim []claimEdit
		hosts []*bmov1alpha1.BareMetalHost
		want  string
	}{
		"counts hosts that cannot fit by what they lack, whatever they do": {
			[]claimEdit{wantsLabel("rack", "a1")},
			slices.Concat(many(1, failed), many(4), many(30, used), many(6, state(bmov1alpha1.StateInspecting))),
			"41 hosts seen: 41 without label rack=a1",
		},
		"counts the hosts that it could have had by what they are": {
			[]claimEdit{wantsLabel("rack", "a1")},
			slices.Concat(many(1, failed, label("rack", "a1")), many(4), many(30, used, label("rack", "a1")),
				many(6, state(bmov1alpha1.StateInspecting), label("rack", "a1"))),
			"41 hosts seen: 30 in use, 6 not available, 4 without label rack=a1, 1 in error",
		},
		"a full pool with none that fits is no shortage": {
			[]claimEdit{wantsLabel("rak", "a1")}, many(10, used, label("rack", "a1")), "10 hosts seen: 10 without label rak=a1",
		},
		"a full pool in another failure domain": {
			[]claimEdit{wantsDomain("fd")}, many(10, used), "10 hosts seen: 10 outside failure domain fd",
		},
		"labels that controllers put on a host in use tell nothing of its tenant": {
			[]claimEdit{
				wants("cluster.x-k8s.io/cluster-name", "in", "alice"), wants("hostclaim.metal3.io/claim-uid", "exists"),
				wants("infrastructure.cluster.x-k8s.io/node-reuse", "!"), wantsLabel("rack", "a1"),
			},
			append(many(2, used, label("rack", "a1"), label("infrastructure.cluster.x-k8s.io/node-reuse", "x")), many(1, used)...),
			"3 hosts seen: 2 in use, 1 without label rack=a1",
		},
		"one host is one host":                      {nil, many(1, used), "1 host seen: 1 in use"},
		"no hosts at all":                           {nil, nil, "no hosts seen"},
		"no hosts in the namespace":                 {[]claimEdit{wantsNamespace("x")}, nil, "no hosts seen in namespace x"},
		"a host outside the namespace":              {[]claimEdit{wantsNamespace("x")}, many(1), "1 host seen: 1 outside namespace x"},
		"a host outside the failure domain":         {[]claimEdit{wantsDomain("fd")}, many(2), "2 hosts seen: 2 outside failure domain fd"},
		"a host that another claim is taking":       {nil, many(1), "1 host seen: 1 in use"},
		"a requirement given twice is counted once": {[]claimEdit{wants("a", "exists"), wants("a", "exists")}, many(2), "2 hosts seen: 2 without label a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Explain(criteria(t, tt.claim...), tt.hosts)
			expect.Equal(t, tt.want, got)
			if strings.HasSuffix(got, ".") {
				t.Errorf("%q ends with a period, and others add to it", got)
			}
		})
	}
}

// TestSameButCounts compares what Explain itself returns: for each reason that it knows, other counts of it are
// the same, and any other reason is not.
func TestSameButCounts(t *testing.T) {
	c := criteria(t, wants("rack", operators.In, "1", "2"), wantsLabel("tier", "10"), wantsNamespace("infra"), wantsDomain("east"))
	but := func(edits ...edit) []edit { // a host that fits but for this
		return append([]edit{label("rack", "1"), label("tier", "10"), label(infrav1.FailureDomainLabel, "east")}, edits...)
	}
	elsewhere := func(h *bmov1alpha1.BareMetalHost) { h.Namespace = "other" }
	misfits := map[string][]edit{
		"InUse":    but(used),
		"Deleted":  but(func(h *bmov1alpha1.BareMetalHost) { h.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }),
		"Paused":   but(annotation(bmov1alpha1.PausedAnnotation, "")),
		"InError":  but(failed),
		"State":    but(state(bmov1alpha1.StateInspecting)),
		"External": but(func(h *bmov1alpha1.BareMetalHost) { h.Spec.ExternallyProvisioned = true }),
		"Outside":  but(elsewhere),
		"Rack":     but(label("rack", "3")),
		"Tier":     but(label("tier", "x")),
		"Domain":   but(label(infrav1.FailureDomainLabel, "west")),
	}
	explain := func(counts map[string]int) string {
		var hosts []*bmov1alpha1.BareMetalHost
		for reason, n := range counts {
			for range n {
				hosts = append(hosts, newHost(reason, misfits[reason]...))
			}
		}
		return Explain(c, hosts)
	}
	for reason := range misfits {
		one, many := map[string]int{reason: 1}, map[string]int{reason: 12}
		for more := range misfits {
			if a, b := explain(one), explain(many); !SameButCounts(a, b) {
				t.Errorf("%q differs from %q", a, b)
			}
			if one[more]++; more != reason {
				if a, b := explain(map[string]int{reason: 2}), explain(map[string]int{more: 2}); SameButCounts(a, b) {
					t.Errorf("%q is the same as %q", a, b)
				}
				if a, b := explain(map[string]int{reason: 2}), explain(map[string]int{reason: 1, more: 1}); SameButCounts(a, b) {
					t.Errorf("%q is the same as %q", a, b)
				}
			}
			many[more] += 100
		}
	}
}
