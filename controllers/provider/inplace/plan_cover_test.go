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

package inplace

import (
	"encoding/json"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// set reads templates from what is written in spec.template.spec.
func set(t *testing.T, version, infra, bootstrap string) machineSet {
	t.Helper()
	object := func(apiVersion, kind, spec string) map[string]any {
		o := map[string]any{"apiVersion": apiVersion, "kind": kind}
		inner := map[string]any{}
		expect.NoError(t, json.Unmarshal([]byte(spec), &inner))
		o["spec"] = map[string]any{"template": map[string]any{"spec": inner}}
		return o
	}
	return machineSet{
		Version:        version,
		Infrastructure: object("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3MachineTemplate", infra),
		Bootstrap:      object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate", bootstrap),
	}
}

const (
	oldImage = `"image":{"url":"http://x/1","checksum":"a","checksumType":"sha256"}`
	newImage = `"image":{"url":"http://x/2","checksum":"b"}`
)

func TestCovered(t *testing.T) {
	type want struct{ Set, Infrastructure, Bootstrap, Why string }
	tests := map[string]struct {
		current, desired machineSet
		want             want
	}{
		"nothing": {current: set(t, "v1", `{}`, `{}`), desired: set(t, "v1", `{}`, `{}`)},
		"image and version": {
			current: set(t, "v1", `{`+oldImage+`}`, `{}`), desired: set(t, "v2", `{`+newImage+`}`, `{}`),
			want: want{
				Set:            `[{"op":"add","path":"/spec/template/spec/version","value":"v2"}]`,
				Infrastructure: `[{"op":"add","path":"/spec/template/spec/image","value":{"checksum":"b","url":"http://x/2"}}]`,
			},
		},
		"a deploy method in the place of an image": {
			current: set(t, "", `{`+oldImage+`}`, `{}`), desired: set(t, "", `{"customDeploy":{"method":"own"}}`, `{}`),
			want: want{
				Infrastructure: `[{"op":"remove","path":"/spec/template/spec/image"},` +
					`{"op":"add","path":"/spec/template/spec/customDeploy","value":{"method":"own"}}]`,
			},
		},
		"a field that is null, as good as absent": {
			current: set(t, "", `{`+oldImage+`}`, `{}`), desired: set(t, "", `{"image":null,"customDeploy":null}`, `{}`),
			want: want{Infrastructure: `[{"op":"remove","path":"/spec/template/spec/image"}]`},
		},
		"a version that is taken away": {
			current: set(t, "v1", `{}`, `{}`), desired: set(t, "", `{}`, `{}`),
			want: want{Set: `[{"op":"remove","path":"/spec/template/spec/version"}]`},
		},
		"bootstrap": {
			current: set(t, "v1", `{}`, `{"files":[1]}`), desired: set(t, "v1", `{}`, `{"ntp":{}}`),
			want: want{Bootstrap: `[{"op":"add","path":"/spec/template/spec","value":{"ntp":{}}}]`},
		},
		"no selector, identity, data, failure domain or cleaning": {
			current: set(t, "v1", `{}`, `{}`),
			desired: set(t, "v1", `{"hostSelector":{"matchLabels":{"a":"b"}},"identityRef":{"name":"x"},"dataTemplate":{"name":"x"},`+
				`"failureDomain":"x","automatedCleaningMode":"disabled","metaData":{"name":"x"},"userData":{"name":"x"}}`, `{}`),
		},
		"only the image beside a selector, so that Cluster API replaces": {
			current: set(t, "v1", `{`+oldImage+`}`, `{}`), desired: set(t, "v1", `{`+newImage+`,"hostSelector":{}}`, `{}`),
			want: want{Infrastructure: `[{"op":"add","path":"/spec/template/spec/image","value":{"checksum":"b","url":"http://x/2"}}]`},
		},
		"nothing of another infrastructure": {
			current: set(t, "v1", `{}`, `{}`), desired: func() machineSet {
				s := set(t, "v2", `{}`, `{}`)
				s.Infrastructure["kind"] = "OtherMachineTemplate"
				return s
			}(),
			want: want{Why: "The machines are not made from a Metal3MachineTemplate"},
		},
		"nothing without new bootstrap data": {
			current: func() machineSet { s := set(t, "v1", `{`+oldImage+`}`, `{}`); s.Bootstrap = nil; return s }(),
			desired: func() machineSet { s := set(t, "v1", `{`+newImage+`}`, `{}`); s.Bootstrap = nil; return s }(),
			want: want{
				Why: "The bootstrap data is not made from a KubeadmConfigTemplate, so that no new data can be made for a server that joins again",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p, why := covered(tc.current, tc.desired)
			got := want{string(p.Set), string(p.Infrastructure), string(p.Bootstrap), why}
			expect.Equal(t, tc.want, got)
		})
	}
}
