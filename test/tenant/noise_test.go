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
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// What a server reports when something goes wrong names its BMC, and worse.
func TestErrorTextsReachNoTenantWithBMCAddress(t *testing.T) {
	const address, password = "redfish://192.0.2.77/redfish/v1", "hunter2"
	w := newPool(t, nil)
	key := w.host("host-0")
	claim := w.attack("machine", withImage(goodURL, ""))
	w.ready(claim)
	host := w.readHost(key)
	host.Status.ErrorType, host.Status.ErrorMessage = bmov1alpha1.PowerManagementError, "cannot log on to "+address+" with "+password
	host.Status.OperationalStatus = bmov1alpha1.OperationalStatusError
	w.SetStatus(host, host.Status)
	w.expect(claim, "Ready", "False/"+bmov1alpha1.ErrorReason)

	facts, events := &bmov1alpha1.HardwareDataList{}, &eventsv1.EventList{}
	w.OK(mallory.List(w.Ctx, facts, client.InNamespace(w.mallory)))
	w.OK(mallory.List(w.Ctx, events, client.InNamespace(w.mallory)))
	w.G.Expect(facts.Items).To(gomega.HaveLen(1))
	w.G.Expect(events.Items).NotTo(gomega.BeEmpty())
	all := fmt.Sprintf("%+v %+v %+v", claim, facts.Items, events.Items)
	for _, part := range []string{address, "192.0.2.77", "redfish", password, "bmc"} {
		w.G.Expect(all).NotTo(gomega.ContainSubstring(part))
	}
	w.G.Expect(harness.Message(claim.Status.Conditions, "Ready")).To(gomega.ContainSubstring("power management error"))
}

// A selector is compared with every host at the cost of all tenants, and what a tenant
// writes comes back in messages.
func TestHugeSelectorsAndLongTextsDoNotStallOthers(t *testing.T) {
	w := newPool(t, nil)
	for i := range 5 {
		w.host(fmt.Sprintf("host-%d", i))
	}
	const claims = 10
	values := make([]string, 4)
	for i := range values {
		values[i] = fmt.Sprintf("%063d", i)
	}
	large := func(n int) edit {
		return func(c *bmov1alpha1.HostClaim) {
			for range n {
				c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
					bmov1alpha1.HostSelectorRequirement{Key: strings.Repeat("k", 60), Operator: "notin", Values: values})
			}
			c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
				bmov1alpha1.HostSelectorRequirement{Key: strings.Repeat("x", 60), Operator: "in", Values: values})
		}
	}
	for n, because := range map[int]string{32: "at most 32 are allowed", 2000: "at most 524288 are allowed"} {
		w.refused(mallory.Create(w.Ctx, builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: "too-large"}, large(n))), because)
	}
	for i := range claims {
		w.attack(fmt.Sprintf("large-%d", i), large(31), func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = strings.Repeat("d", 256) })
	}
	long := w.attack("long", withImage("https://good.example/"+strings.Repeat("x", 100_000), strings.Repeat("s", 100_000)))
	begin := time.Now()
	w.bound(w.defend("machine"))
	t.Logf("bound after %s, beside %d claims of the largest size", time.Since(begin).Round(time.Millisecond), claims)
	w.expect(long, synchronized, "False/"+bmov1alpha1.BadUserDataSecretReason)
	for i := range claims {
		claim := builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: fmt.Sprintf("large-%d", i)})
		w.expect(claim, associated, noHost)
		w.G.Expect(len(harness.Message(claim.Status.Conditions, associated))).To(gomega.BeNumerically("<=", 1024))
	}
}

// Hundreds of claims that cannot be answered take their turns, and the one of
// another tenant, which can, takes its own.
func TestHoardOfClaimsDelaysAnotherTenantNoLongerThanItsTurn(t *testing.T) {
	const hoard = 150
	w := newPool(t, nil)
	var group errgroup.Group
	group.SetLimit(10)
	for i := range hoard {
		group.Go(func() error {
			return mallory.Create(w.Ctx, builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: fmt.Sprintf("hoard-%d", i)}, func(c *bmov1alpha1.HostClaim) {
				c.Spec.HostSelector.MatchLabels = map[string]string{"no": "host"}
			}))
		})
	}
	w.OK(group.Wait())
	victim := w.defend("machine")
	begin := time.Now()
	w.host("host-0")
	w.bound(victim)
	t.Logf("bound %s after the host had come, beside %d claims that wait", time.Since(begin).Round(time.Millisecond), hoard)

	// A host that comes free goes on to the next claim that it suits, without a
	// turn for each of those that it does not.
	next := w.defend("next")
	w.expect(next, associated, noHost)
	w.OK(alice.Delete(w.Ctx, victim))
	begin = time.Now()
	w.AwaitGone(victim)
	w.bound(next)
	t.Logf("the next one was bound %s after the host was asked back", time.Since(begin).Round(time.Millisecond))
}

// One tenant has both hosts and a backlog of claims, and another one begins to ask when all
// of those wait: from then on each gets every second host that becomes free. Counted is who
// gets a host, not when.
func TestBacklogOfOneTenantGetsEverySecondHost(t *testing.T) {
	const backlog, asked, freed = 30, 6, 8
	w := newPool(t, nil)
	claims := map[types.UID]*bmov1alpha1.HostClaim{}
	keep := func(claim *bmov1alpha1.HostClaim) *bmov1alpha1.HostClaim {
		claims[claim.UID] = claim
		return claim
	}
	both := []client.ObjectKey{w.host("host-0"), w.host("host-1")}
	for i := range both {
		w.bound(keep(w.attack(fmt.Sprint("first-", i))))
	}
	var waiting []*bmov1alpha1.HostClaim
	for i := range backlog {
		waiting = append(waiting, keep(w.attack(fmt.Sprint("backlog-", i))))
	}
	for i := range asked {
		waiting = append(waiting, keep(w.defend(fmt.Sprint("machine-", i))))
	}
	for _, claim := range waiting {
		w.expect(claim, associated, noHost)
	}

	got := map[string]int{}
	for i := range freed {
		host := both[i%len(both)]
		former := claims[w.readHost(host).Spec.ConsumerRef.UID]
		w.OK(server.Client.Delete(w.Ctx, former))
		var next *bmov1alpha1.HostClaim
		w.G.Eventually(func() bool {
			ref := w.readHost(host).Spec.ConsumerRef
			if ref != nil {
				next = claims[ref.UID]
			}
			return next != nil && next != former
		}).Should(gomega.BeTrue(), "the host that was freed is bound again")
		w.bound(next)
		got[next.Namespace]++
	}
	// A bind that fails ends a turn as well, so the turns may be off by one.
	w.G.Expect(got[w.alice]).To(gomega.BeNumerically("~", freed/2, 1), "of %d hosts: %v", freed, got)
}

// What a tenant can do over and over again must not fill the namespace of the
// infrastructure with events.
func TestEventsFloodIsBounded(t *testing.T) {
	w := newPool(t, nil, "host-0")
	claim := w.attack("machine", withImage(goodURL, ""))
	w.ready(claim)
	waiting := w.attack("waiting")
	for i := range 50 {
		w.OK(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = i%2 == 1 }))
		w.OK(change(w, mallory, waiting, func(c *bmov1alpha1.HostClaim) {
			c.Spec.HostSelector.MatchLabels = map[string]string{"n": fmt.Sprint(i)}
		}))
	}
	// How many of the changes the manager sees, and so whether they pass the limit on
	// power changes, depends on the speed of the machine.
	w.G.Eventually(func() string {
		w.Read(claim)
		return harness.Condition(claim.Status.Conditions, "Ready")
	}).Should(gomega.BeElementOf("True/Provisioned", "False/"+infrav1.PowerChangesLimitedReason))
	for _, namespace := range []string{w.infra, w.mallory} {
		events, old := &eventsv1.EventList{}, &corev1.EventList{}
		w.OK(server.Client.List(w.Ctx, events, client.InNamespace(namespace)))
		w.OK(server.Client.List(w.Ctx, old, client.InNamespace(namespace)))
		w.G.Expect(len(events.Items)).To(gomega.BeNumerically("<", 20), namespace)
		w.G.Expect(len(old.Items)).To(gomega.BeNumerically("<", 20), namespace)
	}
}

// metadata is a part of the metadata of a claim, for a merge patch.
type metadata = map[string]any

// The API server writes a deletion into an object with finalizers, so one that fills a
// request to etcd (1.5 MiB) cannot be deleted by the API server, and its server is never given back.
// A tenant grows a claim in every way until the API server refuses one byte more.
func TestAttackClaimGrownUntilNobodyCanDeleteIt(t *testing.T) {
	w := newPool(t, nil)
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
			w.end(mallory, claim)
			w.free(host)
			w.refused(last, "bytes as JSON", "524288", "shorten")
		})
	}
}

// A claim may be too large already, from before the rule or since its webhook was away. It reports that, and
// what shrinks it is let in.
func TestClaimThatIsTooLargeAlreadySaysSo(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
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
	w.end(mallory, claim)
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

// Images are fetched by the machines that provision, which see more than a tenant
// does: their own files, and the networks of the infrastructure.
func TestTenantCannotHaveAnImageFetchedFromWhereItShouldNot(t *testing.T) {
	refuseAll(t, nil, map[string]bmov1alpha1.Image{
		"FileURLImage":                      {URL: "file:///etc/shadow", Checksum: "abc"},
		"FileURLImage in capitals":          {URL: "FILE:///etc/shadow", Checksum: "abc"},
		"FileURLImage after a space":        {URL: " file:///etc/shadow", Checksum: "abc"},
		"FTPURLImage":                       {URL: "ftp://good.example/os.raw", Checksum: "abc"},
		"path without a scheme":             {URL: "/etc/shadow", Checksum: "abc"},
		"scheme without slashes":            {URL: "https:good.example/os.raw", Checksum: "abc"},
		"scheme with a line break":          {URL: "https\n://good.example/os.raw", Checksum: "abc"},
		"line break that ends the request":  {URL: "http://good.example/ HTTP/1.1\r\nHost: inner.example\r\n\r\n", Checksum: "abc"},
		"control character":                 {URL: "http://good.example/os\x00.raw", Checksum: "abc"},
		"URL without a host":                {URL: "https:///os.raw", Checksum: "abc"},
		"nothing but a scheme":              {URL: "https://", Checksum: "abc"},
		"metadata service of a cloud":       {URL: "http://169.254.169.254/latest/meta-data", Checksum: "abc"},
		"host that fetches it":              {URL: "http://localhost:6385/v1/nodes", Checksum: "abc"},
		"host that fetches it, by number":   {URL: "http://0x7f.1:6385/v1/nodes", Checksum: "abc"},
		"host that fetches it, by its file": {URL: "http://localhost4.localdomain4:6385/v1/nodes", Checksum: "abc"},
		"metadata service by 6to4":          {URL: "http://[2002:a9fe:a9fe::1]/latest/meta-data", Checksum: "abc"},
		"metadata service by local NAT64":   {URL: goodURL, Checksum: "http://[64:ff9b:1::a9fe:a9fe]/latest/meta-data"},
		"checksum from that host":           {URL: goodURL, Checksum: "http://[::1]:6385/v1/nodes"},
		"checksum from a file":              {URL: goodURL, Checksum: "file:///etc/shadow"},
		"checksum from a path":              {URL: goodURL, Checksum: "/etc/shadow"},
		"no checksum":                       {URL: goodURL},
		"checksum with a line break":        {URL: goodURL, Checksum: "https://good.example/sums\nhttps://evil.example/"},
	})
}

// Where policy names the servers, only these are asked, whatever the URL looks like.
func TestTenantCannotGetAroundTheImageURLsOfAPolicy(t *testing.T) {
	onlyGood := map[string]string{"hostclaim.metal3.io/allowed-image-urls": `https://good\.example/.*`}
	refuseAll(t, onlyGood, map[string]bmov1alpha1.Image{
		"metadata service as image":                 {URL: "http://169.254.169.254/latest/meta-data", Checksum: "abc"},
		"ChecksumURLToMetadataService":              {URL: goodURL, Checksum: "http://169.254.169.254/latest/meta-data"},
		"ChecksumURLToMetadataService without http": {URL: goodURL, Checksum: "169.254.169.254/latest/meta-data"},
		"good host as user name":                    {URL: "https://good.example@evil.example/os.raw", Checksum: "abc"},
		"good host as prefix":                       {URL: "https://good.example.evil.example/os.raw", Checksum: "abc"},
		"good host in the path":                     {URL: "https://evil.example/https://good.example/os.raw", Checksum: "abc"},
		"good host after a line break":              {URL: "https://evil.example/\nhttps://good.example/os.raw", Checksum: "abc"},
		"good host before a line break":             {URL: "https://good.example/os.raw\nhttps://evil.example/", Checksum: "abc"},
		"good host with another scheme":             {URL: "http://good.example/os.raw", Checksum: "abc"},
		"good host with a backslash":                {URL: `https://good.example\@evil.example/os.raw`, Checksum: "abc"},
		"good host with a scheme in capitals":       {URL: "HTTPS://GOOD.EXAMPLE/os.raw", Checksum: "abc"},
	})
}

// A pool that refuses an image is passed over for one that permits it. A claim that finds no host there
// reports what the other pool refuses, and takes none of its hosts; once its policy permits the image, it
// does.
func TestClaimPassesOverPoolsThatRefuseItsImage(t *testing.T) {
	w := newPool(t, map[string]string{"hostclaim.metal3.io/allowed-image-urls": `https://evil\.example/.*`})
	strict := w.host("a")
	lax := *w
	lax.infra = server.Namespace(t, "lax", nil)
	w.OK(server.Bind(w.Ctx, harness.HostClaimAccount(), lax.infra, hostSecretsRole))
	lax.policy(nil)
	open := lax.host("b")
	w.G.Expect(w.bound(w.attack("first", withImage(goodURL, "")))).To(gomega.Equal(open))
	second := w.attack("second", withImage(goodURL, ""))
	w.expect(second, associated, noHost)
	w.G.Expect(harness.Message(second.Status.Conditions, associated)).To(gomega.And(
		gomega.HavePrefix("1 host seen: 1 in use"), gomega.ContainSubstring("spec.image.url is refused")))
	w.free(strict)
	policy := &bmov1alpha1.HostDeployPolicy{}
	w.OK(server.Client.Get(w.Ctx, client.ObjectKey{Namespace: w.infra, Name: "policy"}, policy))
	before := policy.DeepCopy()
	policy.Annotations = nil
	w.OK(server.Client.Patch(w.Ctx, policy, client.MergeFrom(before)))
	w.G.Expect(w.bound(second)).To(gomega.Equal(strict))
}

// refuseAll asks for each image where a host of its own is free, none of which must be taken.
func refuseAll(t *testing.T, annotations map[string]string, images map[string]bmov1alpha1.Image) {
	t.Helper()
	w := newWorld(t)
	w.policy(annotations)
	claims := map[string]*bmov1alpha1.HostClaim{}
	var keys []client.ObjectKey
	for name, image := range images {
		number := fmt.Sprint(len(claims))
		keys = append(keys, w.host("host-"+number, func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"n": number} }))
		claim := builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: "machine-" + number}, func(c *bmov1alpha1.HostClaim) {
			c.Spec.HostSelector.MatchLabels = map[string]string{"n": number}
			c.Spec.Image = &image
		})
		err := mallory.Create(w.Ctx, claim)
		claims[name] = claim
		if err != nil { // what no server could fetch is refused at once
			w.G.Expect(err).To(gomega.And(gomega.Satisfy(apierrors.IsForbidden), gomega.MatchError(gomega.ContainSubstring("spec.image"))), name)
			claims[name] = nil
		}
	}
	for name, claim := range claims {
		if claim == nil {
			continue
		}
		w.G.Eventually(func() string {
			w.Read(claim)
			return harness.Condition(claim.Status.Conditions, associated)
		}).Should(gomega.Equal("False/ImageRefused"), name)
		w.G.Expect(harness.Message(claim.Status.Conditions, associated)).To(gomega.ContainSubstring("No server is taken"), name)
	}
	w.untold(keys...)
	for _, key := range keys {
		w.G.Expect(w.readHost(key).Spec.ConsumerRef).To(gomega.BeNil(), key.Name)
	}
}

// A tenant that has mistaken itself need not start over.
func TestTenantWhoCorrectsARefusedImageGetsIt(t *testing.T) {
	w, host := newPoolWithHost(t, map[string]string{"hostclaim.metal3.io/allowed-image-urls": `https://good\.example/.*`})
	claim := w.attack("machine", withImage("https://evil.example/os.raw", ""))
	w.expect(claim, associated, "False/ImageRefused", "spec.image.url is refused")
	w.OK(change(w, mallory, claim, withImage(goodURL, "")))
	w.ready(claim)
	w.G.Expect(hosts.booted(host)).To(gomega.HaveLen(1))
	w.G.Expect(hosts.booted(host)[0].URL).To(gomega.Equal(goodURL))
}

// A deploy method is a step of the ramdisk with whatever rights that has.
func TestTenantCannotUseCustomDeployWithoutPolicy(t *testing.T) {
	w, host := newPoolWithHost(t, map[string]string{"hostclaim.metal3.io/allow-custom-deploy": "false"})
	claim := w.attack("machine", withImage(goodURL, ""), func(c *bmov1alpha1.HostClaim) {
		c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "run_anything"}
	})
	w.expect(claim, associated, "False/ImageRefused", "spec.customDeploy is refused")
	w.untold(host)
	w.free(host)
}
