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

package crdschema

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// image are the fields of an image; an empty one is left out.
type image struct {
	url, checksum, checksumType, format string
}

func (i image) object() map[string]any {
	fields := map[string]any{}
	for name, value := range map[string]string{
		"url": i.url, "checksum": i.checksum, "checksumType": i.checksumType, "diskFormat": i.format,
	} {
		if value != "" {
			fields[name] = value
		}
	}
	return map[string]any{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
		"metadata": map[string]any{"name": "m", "namespace": "n"}, "spec": map[string]any{"image": fields},
	}
}

var (
	httpURL    = regexp.MustCompile(`^https?://`)
	checksums  = map[string]bool{"": true, "md5": true, "sha256": true, "sha512": true}
	diskFormat = map[string]bool{"": true, "raw": true, "qcow2": true, "vdi": true, "vmdk": true, "live-iso": true}
)

// certain returns whether an image is valid by the rules of the API. Known is false where
// that depends on what exactly is taken for a URL.
func (i image) certain() (valid, known bool) {
	oci := strings.HasPrefix(strings.ToLower(i.url), "oci://")
	switch {
	case i.url == "" || !checksums[i.checksumType] || !diskFormat[i.format]:
		return false, true
	case utf8.RuneCountInString(i.url) > 512 || utf8.RuneCountInString(i.checksum) > 512:
		return false, true
	case oci && (i.checksum != "" || i.checksumType != ""):
		return false, true
	case !oci && i.checksum == "" && i.format != "live-iso":
		return false, true
	}
	plain := regexp.MustCompile(`^[a-z]+://[a-z0-9.]+(/[a-z0-9._-]*)*$`).MatchString(i.url)
	if _, err := url.ParseRequestURI(i.checksum); httpURL.MatchString(i.checksum) && err != nil {
		return false, true
	}
	return true, plain && !httpURL.MatchString(i.checksum)
}

func TestImages(t *testing.T) {
	schema, err := Load("metal3machines")
	expect.NoError(t, err)
	tests := map[string]struct {
		image image
		want  string // part of the complaint, empty for none
	}{
		"a URL with a checksum":                 {image: image{url: "http://a/b.qcow2", checksum: "abc", format: "qcow2"}},
		"a live ISO needs none":                 {image: image{url: "http://a/b.iso", format: "live-iso"}},
		"an OCI image has its own":              {image: image{url: "OCI://a/b"}},
		"an OCI image with another":             {image: image{url: "oci://a/b", checksum: "abc"}, want: "image.checksum and image.checksumType"},
		"a URL without a checksum":              {image: image{url: "http://a/b"}, want: "image.checksum"},
		"a checksum that is a broken URL":       {image: image{url: "http://a/b", checksum: "http://[x"}, want: "not a valid one"},
		"an unknown checksum type":              {image: image{url: "http://a/b", checksum: "abc", checksumType: "crc"}, want: "checksumType"},
		"an unknown disk format":                {image: image{url: "http://a/b", checksum: "abc", format: "tar"}, want: "diskFormat"},
		"no URL":                                {image: image{checksum: "abc"}, want: "url"},
		"a URL that is longer than the API has": {image: image{url: "http://a/" + strings.Repeat("b", 600), checksum: "abc"}, want: "512"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			problems := schema.Check(t.Context(), tc.image.object()).ToAggregate()
			expect.That(t, (problems == nil) == (tc.want == "") && (problems == nil || strings.Contains(problems.Error(), tc.want)), "%v, want %q", problems, tc.want)
		})
	}
}

// FuzzImage compares the rules of the CRD with the same rules in Go; whatever an
// image holds, the rules come to an answer.
func FuzzImage(f *testing.F) {
	f.Add("http://a/b", "abc", "sha256", "raw")
	f.Add("oci://a/b:c", "", "", "")
	f.Add("http://a/b", "https://a/sums", "", "live-iso")
	f.Add("OCI://", "x", "md5", "qcow2")
	f.Add("a b", "http://%zz", "", "")
	schema, err := Load("metal3machines")
	expect.NoError(f, err)
	f.Fuzz(func(t *testing.T, address, checksum, checksumType, format string) {
		i := image{url: address, checksum: checksum, checksumType: checksumType, format: format}
		for _, s := range []string{address, checksum, checksumType, format} {
			if !utf8.ValidString(s) {
				return // JSON has no such text
			}
		}
		problems := schema.Check(t.Context(), i.object()).ToAggregate()
		valid, known := i.certain()
		expect.That(t, !known || valid == (problems == nil), "%+v is valid: %v, the API server says %v", i, valid, problems)
		expect.That(t, problems == nil || !strings.Contains(problems.Error(), "failed rule"), "a rule came to no answer: %v", problems)
	})
}
