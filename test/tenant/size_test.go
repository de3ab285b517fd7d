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

package tenant

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// metadata is a part of the metadata of a claim, for a merge patch.
type metadata = map[string]any

// The API server writes a deletion into an object with finalizers, so one that fills a
// request to etcd (1.5 MiB) cannot be deleted by the API server, and its server is never given back.
// A tenant grows a claim in every way until the API server refuses one byte more.
func TestAttackClaimGrownUntilNobodyCanDeleteIt(t *testing.T) {
	w := newWorld(t)
	w.policy(nil)
	ways := map[string]struct {
		of   func(n int) metadata
		most int
	}{
		"labels": {most: 25_000, of: func(n int) metadata {
			return metadata{"labels": numbered(n, func(i int) (string, any) { return fmt.Sprint("l", i), strings.Repeat("v", 63) })}
		}},
		"annotations that JSON escapes": {most: 262_000, of: func(n int) metadata {
			return metadata{"annotations": map[string]any{"a": strings.Repeat("<", n)}}
		}},
		"owners": {most: 16_000, of: func(n int) metadata {
			list := make([]any, n)
			for i := range list {
				list[i] = map[string]string{"apiVersion": "v1", "kind": "ConfigMap", "name": "n", "uid": fmt.Sprint(strings.Repeat("u", 50), i)}
			}
			return metadata{"ownerReferences": list}
		}},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			w := &world{Story: server.NewStory(t), mallory: w.mallory, alice: w.alice, infra: w.infra}
			short := strings.Fields(name)[0]
			host := w.host(short, func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"n": short} })
			claim := w.attack(short, func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchLabels = map[string]string{"n": short} })
			w.bound(claim)
			last := w.largest(claim, way.most, 512, way.of)
			w.largest(claim, 98_304, 48, func(n int) metadata {
				return metadata{"annotations": map[string]any{"fill": strings.Repeat("x", n)}}
			})
			w.Read(claim)
			text, err := json.Marshal(claim)
			w.OK(err)
			t.Logf("grown to %d bytes", len(text))
			w.OK(mallory.Delete(w.Ctx, claim))
			w.AwaitGone(claim)
			w.free(host)
			w.refused(last, "bytes as JSON", "524288", "shorten")
		})
	}
}

// A claim may be too large already, from before the rule or since its webhook was away. It is told, and
// what shrinks it is let in.
func TestClaimThatIsTooLargeAlreadySaysSo(t *testing.T) {
	w := newWorld(t)
	w.policy(nil)
	host := w.host("host-0")
	claim := w.attack("machine")
	w.bound(claim)
	labels := func(n int) client.Patch {
		return merge(w, metadata{"labels": numbered(9000, func(i int) (string, any) {
			if i < n {
				return fmt.Sprint("l", i), strings.Repeat("v", 63)
			}
			return fmt.Sprint("l", i), nil
		})})
	}
	w.OK(server.Client.Patch(w.Ctx, claim.DeepCopy(), labels(9000))) // an administrator, whom the webhook is not asked about
	w.expect(claim, synchronized, "False/ClaimTooLarge")
	w.G.Expect(harness.Message(claim.Status.Conditions, synchronized)).To(gomega.And(
		gomega.ContainSubstring("524288 bytes"), gomega.ContainSubstring("shorten its labels")))
	w.refused(mallory.Patch(w.Ctx, claim.DeepCopy(), merge(w, metadata{"labels": metadata{"one": "more"}})), "bytes as JSON", "shorten")
	w.OK(mallory.Patch(w.Ctx, claim.DeepCopy(), labels(8000))) // too large as ever
	w.OK(mallory.Patch(w.Ctx, claim.DeepCopy(), labels(100)))
	w.expect(claim, synchronized, "True/ConfigurationSynced")
	w.OK(mallory.Delete(w.Ctx, claim))
	w.AwaitGone(claim)
	w.free(host)
}

// largest patches a claim, as the attacker, with the most that is accepted, to a step, and returns
// the last refusal; nil if the most of all is accepted.
func (w *world) largest(claim *bmov1alpha1.HostClaim, most, step int, of func(n int) metadata) error {
	var last error
	refuses := func(n int) bool {
		err := mallory.Patch(w.Ctx, claim.DeepCopy(), merge(w, of(n)))
		if err != nil {
			last = err
		}
		return err != nil
	}
	low, high := 0, step
	for high < most && !refuses(high) {
		low, high = high, 2*high
	}
	sort.Search((min(high, most)-low)/step, func(n int) bool { return refuses(low + (n+1)*step) })
	return last
}

func merge(w *world, m metadata) client.Patch {
	w.T.Helper()
	text, err := json.Marshal(map[string]any{"metadata": m})
	w.OK(err)
	return client.RawPatch(types.MergePatchType, text)
}

func numbered(n int, of func(i int) (string, any)) map[string]any {
	all := make(map[string]any, n)
	for i := range n {
		key, value := of(i)
		all[key] = value
	}
	return all
}
