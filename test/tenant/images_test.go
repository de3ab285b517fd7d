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
	"fmt"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

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

// A pool that refuses an image is passed over for one that permits it. A claim that finds no host there says
// what the other pool refuses, and takes none of its hosts; once its policy permits the image, it does.
func TestClaimPassesOverPoolsThatRefuseItsImage(t *testing.T) {
	w := newWorld(t)
	w.policy(map[string]string{"hostclaim.metal3.io/allowed-image-urls": `https://evil\.example/.*`})
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
		claims[name] = w.attack("machine-"+number, func(c *bmov1alpha1.HostClaim) {
			c.Spec.HostSelector.MatchLabels = map[string]string{"n": number}
			c.Spec.Image = &image
		})
	}
	for name, claim := range claims {
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
	w := newWorld(t)
	w.policy(map[string]string{"hostclaim.metal3.io/allowed-image-urls": `https://good\.example/.*`})
	host := w.host("host-0")
	claim := w.attack("machine", withImage("file:///etc/shadow", ""))
	w.expect(claim, associated, "False/ImageRefused")
	w.G.Expect(harness.Message(claim.Status.Conditions, associated)).To(gomega.ContainSubstring("spec.image.url is refused"))
	w.OK(change(w, mallory, claim, withImage(goodURL, "")))
	w.ready(claim)
	w.G.Expect(hosts.booted(host)).To(gomega.HaveLen(1))
	w.G.Expect(hosts.booted(host)[0].url).To(gomega.Equal(goodURL))
}

// A deploy method is a step of the ramdisk with whatever rights that has.
func TestTenantCannotUseCustomDeployWithoutPolicy(t *testing.T) {
	w := newWorld(t)
	w.policy(map[string]string{"hostclaim.metal3.io/allow-custom-deploy": "false"})
	host := w.host("host-0")
	claim := w.attack("machine", withImage(goodURL, ""), func(c *bmov1alpha1.HostClaim) {
		c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "run_anything"}
	})
	w.expect(claim, associated, "False/ImageRefused")
	w.G.Expect(harness.Message(claim.Status.Conditions, associated)).To(gomega.ContainSubstring("spec.customDeploy is refused"))
	w.untold(host)
	w.free(host)
}
