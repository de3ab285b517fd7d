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

package rules

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/admission"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// random draws other objects in each run; a failure shows the object that it is about.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
}

// draw returns one of the words.
func draw[T any](r *rand.Rand, words ...T) T { return words[r.IntN(len(words))] }

// selector is one that a tenant might write, often wrong.
func selector(r *rand.Rand) (labels map[string]string, expressions []bmov1alpha1.HostSelectorRequirement) {
	key := func() string { return draw(r, "rack", "rack", "metal3.io/size", "no key", "/x", "") }
	value := func() string { return draw(r, "a1", "a1", "", "8", "-", "two words") }
	for range r.IntN(2) {
		labels = map[string]string{key(): value()}
	}
	for range r.IntN(3) {
		e := bmov1alpha1.HostSelectorRequirement{Key: key(), Values: []string{}, Operator: draw[selection.Operator](
			r, "in", "notin", "exists", "!", "=", "==", "!=", "In", "NOTIN", "Exists", "DoesNotExist", "doesnotexist", "gt", "Lt", ">", "<", "near", "")}
		for range r.IntN(3) {
			e.Values = append(e.Values, value())
		}
		expressions = append(expressions, e)
	}
	return labels, expressions
}

// claim is one that a tenant might write, often wrong.
func claim(r *rand.Rand) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{}
	c.Spec.HostSelector.MatchLabels, c.Spec.HostSelector.MatchExpressions = selector(r)
	if r.IntN(2) == 0 {
		c.Spec.Image = &bmov1alpha1.Image{
			URL: draw(r, "http://images/os", "HTTPS://images/os", "oci://registry/os:1", "OCI://registry/os:1", "ftp://images/os", "gopher://images/os",
				"file:///os", "glance://os", "/os", "os", "http://images/%zz", ""),
			Checksum:     draw(r, "", "abc", "http://images/sums", "https://images/%zz", "http:sums", "file:///sums"),
			ChecksumType: draw[bmov1alpha1.ChecksumType](r, "", "md5", "sha256", "sha512", "auto", "crc"),
			DiskFormat:   draw(r, nil, ptr.To("raw"), ptr.To("live-iso")),
		}
	}
	if r.IntN(3) == 0 {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, draw(r, "reboot.metal3.io", "reboot.metal3.io/me", "reboot.metal3.io.example.com/me"),
			draw(r, "", "now", "{}", `{"mode":"hard"}`, `{"mode":"soft","force":true}`, `{"mode":"warm"}`, `{"force":"yes"}`, "[]", "null", "{}{}"))
	}
	return c
}

// What our webhook lets through, the one of baremetal-operator lets through: a claim is judged the same whether or
// not that is installed. Beyond, ours refuses reboots that baremetal-operator would read as another one.
func TestOurWebhookRefusesAllThatTheirsRefuses(t *testing.T) {
	r, taken := random(t), 0
	for range 10_000 {
		c := claim(r)
		ours, theirs := func() error {
			_, err := admission.Claim{}.ValidateCreate(t.Context(), c)
			return err
		}(), Claim(c)
		switch {
		case ours == nil && theirs != nil:
			t.Fatalf("only baremetal-operator refuses %s: %v", text(t, c), theirs)
		case ours != nil && theirs == nil && len(c.Annotations) == 0:
			t.Fatalf("only our webhook refuses %s: %v", text(t, c), ours)
		case ours == nil:
			taken++
		}
	}
	expect.That(t, taken > 500, "only %d claims were taken by both", taken)
}

// What machines ask for becomes claims that baremetal-operator takes, in whatever spelling they ask.
func TestClaimsOfMachinesAreTaken(t *testing.T) {
	r, taken := random(t), 0
	operators := []selection.Operator{"In", "in", "NotIn", "Exists", "!", "DoesNotExist", "=", "==", "!="}
	for range 10_000 {
		wanted := &infrav1.HostSelector{}
		for _, operator := range operators {
			e := infrav1.HostSelectorRequirement{Key: "rack", Operator: operator}
			if !slices.Contains([]selection.Operator{"Exists", "!", "DoesNotExist"}, operator) {
				e.Values = []string{draw(r, "a1", "b2")}
			}
			if r.IntN(2) == 0 {
				wanted.MatchExpressions = append(wanted.MatchExpressions, e)
			}
		}
		c := claims.Desired(claims.Wanted{Selector: wanted})
		if err := Claim(c); err != nil {
			t.Fatalf("%s is refused: %v", text(t, c), err)
		}
		taken += len(wanted.MatchExpressions)
	}
	expect.That(t, taken > 0, "no machine asked for anything")
}

func text(t *testing.T, c *bmov1alpha1.HostClaim) string {
	t.Helper()
	written, err := json.Marshal(c)
	expect.NoError(t, err)
	return string(written)
}
