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

package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// inVersion reads the object in another version.
func inVersion(t *testing.T, version string, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	read := &unstructured.Unstructured{}
	read.SetAPIVersion(infrav1.GroupName + "/" + version)
	read.SetKind(object.GetKind())
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(object), read); err != nil {
		t.Fatal(err)
	}
	return read
}

// content is spec and status of an object, without what is empty.
func content(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	return inJSON(t, filled(map[string]any{"spec": object.Object["spec"], "status": object.Object["status"]}))
}

func filled(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range value {
			if field = filled(field); field != nil {
				out[name] = field
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, item := range value {
			out = append(out, filled(item))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case string:
		if value == "" {
			return nil
		}
	case int64, float64:
		if value == int64(0) || value == float64(0) {
			return nil
		}
	case bool:
		if !value {
			return nil
		}
	}
	return value
}

// An object with every field of v1beta2 is read in v1beta1, restored from what was read, and is the same in v1beta2.
func TestV1Beta1HoldsEveryField(t *testing.T) {
	namespace := server.Namespace(t, "old", nil)
	for kind, crd := range crds {
		if crd.Spec.Group != infrav1.GroupName {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			stored, err := store(t.Context(), everyField(t, kind, namespace))
			if err != nil {
				t.Fatal(err)
			}
			old := inVersion(t, "v1beta1", stored)
			toGo(t, old)
			if err := server.Client.Delete(t.Context(), stored); err != nil {
				t.Fatal(err)
			}
			backup := &unstructured.Unstructured{Object: map[string]any{"spec": old.Object["spec"]}}
			if status, found := old.Object["status"]; found {
				backup.Object["status"] = status
			}
			backup.SetGroupVersionKind(old.GroupVersionKind())
			backup.SetNamespace(namespace)
			backup.SetName(old.GetName())
			backup.SetAnnotations(old.GetAnnotations()) // the order of bond parameters
			restored, err := store(t.Context(), backup)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(content(t, stored), content(t, inVersion(t, "v1beta2", restored))); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

// Objects of a running CAPM3, as users back them up, mean what its own conversion made of them.
func TestObjectsOfRunningCAPM3(t *testing.T) {
	for _, version := range []struct{ sent, read string }{{"v1beta1", "v1beta2"}, {"v1beta2", "v1beta1"}} {
		namespace := server.Namespace(t, "running", nil)
		want := map[string]string{}
		for _, object := range readObjects(t, "capm3-running-"+version.read+".yaml", namespace) {
			want[object.GetKind()] = content(t, object)
		}
		for _, object := range readObjects(t, "capm3-running-"+version.sent+".yaml", namespace) {
			t.Run(version.sent+" "+object.GetKind(), func(t *testing.T) {
				stored, err := store(t.Context(), object)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want[object.GetKind()], content(t, inVersion(t, version.read, stored))); diff != "" {
					t.Errorf("(-as CAPM3 converts it +got):\n%s", diff)
				}
			})
		}
	}
}

// What v1beta1 writes in another form, or v1beta2 has not, comes back as it was sent.
func TestV1Beta1(t *testing.T) {
	const machine = `
image: {url: "http://images.example.com/node.qcow2", checksum: "http://images.example.com/sums", checksumType: sha256, FORMAT: qcow2}
dataTemplate: {name: nodes}
`
	machineIn := func(format, reference string) string {
		return strings.ReplaceAll(strings.ReplaceAll(machine, "FORMAT", format), "{name: nodes}", reference)
	}
	reference := `{kind: Metal3DataTemplate, apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, name: nodes, uid: u, resourceVersion: "1", fieldPath: spec}`
	pools := func(suffix string) string {
		return strings.ReplaceAll(`
metaData:
  ipAddressesFromSUFFIX: [{key: ip, name: pool, apiGroup: ipam.metal3.io, kind: IPPool}]
  prefixesFromSUFFIX: [{key: prefix, name: pool, apiGroup: ipam.metal3.io, kind: IPPool}]
  gatewaysFromSUFFIX: [{key: gateway, name: pool, apiGroup: ipam.metal3.io, kind: IPPool}]
  dnsServersFromSUFFIX: [{key: dns, name: pool, apiGroup: ipam.metal3.io, kind: IPPool}]
networkData:
  links:
    ethernets: [{type: phy, id: nic0, mtu: 1500, macAddress: {fromHostInterface: eth0}}]
    bonds: [{bondMode: 802.3ad, id: bond0, mtu: 1500, bondLinks: [nic0], parameters: PARAMETERS}]
`, "SUFFIX", suffix)
	}
	tests := map[string]struct{ kind, old, want string }{
		"failure domains are a map": {
			kind: "Metal3Cluster",
			old:  "{cloudProviderEnabled: true, noCloudProvider: false, failureDomains: {b: {controlPlane: true}, a: {attributes: {k: v}}}}",
			want: "{cloudProviderEnabled: true, failureDomains: [{name: a, attributes: {k: v}}, {name: b, controlPlane: true}]}",
		},
		"noCloudProvider counts alone": {
			kind: "Metal3ClusterTemplate", old: "{template: {spec: {noCloudProvider: false}}}",
			want: "{template: {spec: {cloudProviderEnabled: true}}}",
		},
		"an endpoint without a host is none": {
			kind: "Metal3ClusterTemplate", old: `{template: {spec: {controlPlaneEndpoint: {host: "", port: 0}}}}`, want: "{template: {spec: {}}}",
		},
		"a template of clusters that says nothing": {
			kind: "Metal3ClusterTemplate", old: "{template: {spec: {}}}", want: "{template: {spec: {}}}",
		},
		"a remediation that says nothing": {kind: "Metal3Remediation", old: "{}", want: "{}"},
		"a template of remediations that says nothing": {
			kind: "Metal3RemediationTemplate", old: "{template: {spec: {}}}", want: "{template: {spec: {}}}",
		},
		"the format of an image and a reference with a kind": {
			kind: "Metal3Machine", old: machineIn("format", reference), want: machineIn("diskFormat", "{name: nodes}"),
		},
		"the same in a template": {
			kind: "Metal3MachineTemplate", old: "nodeReuse: true\n" + template(machineIn("format", reference)),
			want: "nodeReuse: true\n" + template(machineIn("diskFormat", "{name: nodes}")),
		},
		"pools and parameters of bonds": {
			kind: "Metal3DataTemplate",
			old:  "clusterName: c\ntemplateReference: r" + strings.ReplaceAll(pools("IPPool"), "PARAMETERS", `{miimon: 100, lacp_rate: fast}`),
			want: "clusterName: c" + strings.ReplaceAll(pools("Pool"), "PARAMETERS", `[{name: lacp_rate, value: fast}, {name: miimon, value: 100}]`),
		},
		"the reference of a claim": {kind: "Metal3DataClaim", old: "template: " + reference, want: "template: {name: nodes}"},
		"the references of data": {
			kind: "Metal3Data", old: "{index: 7, templateReference: r, template: " + reference + ", claim: {kind: Metal3DataClaim, name: c}}",
			want: "{index: 7, template: {name: nodes}, claim: {name: c}}",
		},
		"a timeout with a unit": {
			kind: "Metal3Remediation", old: "strategy: {type: Reboot, retryLimit: 2, timeout: 5m0s}",
			want: "strategy: {type: Reboot, retryLimit: 2, timeoutSeconds: 300}",
		},
		"the same in a template of remediations": {
			kind: "Metal3RemediationTemplate", old: "template: {spec: {strategy: {type: Reboot, retryLimit: 2, timeout: 5m0.5s}}}",
			want: "template: {spec: {strategy: {type: Reboot, retryLimit: 2, timeoutSeconds: 300}}}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sent := oldObject(t, test.kind, "nodes-7", test.old)
			sent.SetNamespace(server.Namespace(t, "old", nil))
			warned, ear := listen(t)
			applied := sent.DeepCopy()
			if err := warned.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), owner); err != nil {
				t.Fatal(err)
			}
			if len(ear.heard) == 0 || !strings.HasSuffix(ear.heard[0], test.kind+" is deprecated: use v1beta2") {
				t.Errorf("warnings %q", ear.heard)
			}
			again := sent.DeepCopy()
			if err := apply(t.Context(), again); err != nil || again.GetResourceVersion() != applied.GetResourceVersion() {
				t.Errorf("applied again it changes: %v\n%s", err, cmp.Diff(applied.Object, again.Object))
			}
			want, stored := newObject(t, test.kind, test.want), inVersion(t, "v1beta2", sent)
			if diff := cmp.Diff(content(t, want), content(t, stored)); diff != "" {
				t.Errorf("in v1beta2 (-want +got):\n%s", diff)
			}
			// What is stored must be valid, or no write of a controller passes.
			before := stored.DeepCopy()
			stored.SetLabels(map[string]string{"written": "again"})
			if err := server.Client.Patch(t.Context(), stored, client.MergeFrom(before)); err != nil {
				t.Errorf("written again in v1beta2: %v", err)
			}
			if diff := cmp.Diff(content(t, sent), content(t, inVersion(t, "v1beta1", sent))); diff != "" {
				t.Errorf("in v1beta1 (-sent +got):\n%s", diff)
			}
		})
	}
}

// The rules of v1beta2 hold for what is written in v1beta1, and so do those of the webhooks.
func TestV1Beta1IsHeldToTheRules(t *testing.T) {
	for name, test := range map[string]struct {
		kind, spec string
		refused    []string
	}{
		"a machine without an image": {
			kind: "Metal3Machine", spec: "{}", refused: []string{"neither image nor customDeploy is set"},
		},
		"a cluster with and without a cloud provider": {
			kind: "Metal3Cluster", spec: "{noCloudProvider: true, cloudProviderEnabled: true}",
			refused: []string{"noCloudProvider contradicts cloudProviderEnabled"},
		},
		"a reference to another namespace": {
			kind: "Metal3DataClaim", spec: "template: {name: nodes, namespace: elsewhere}", refused: []string{"spec.template.namespace"},
		},
		"a short timeout": {
			kind: "Metal3Remediation", spec: "strategy: {timeout: 99s}", refused: []string{"set it to 100s or more"},
		},
		"a timeout that is none": {
			kind: "Metal3Remediation", spec: "strategy: {timeout: soon}", refused: []string{"spec.strategy.timeout"},
		},
		"an address that is none": {
			kind:    "Metal3DataTemplate",
			spec:    "networkData: {links: {ethernets: [{type: phy, id: a, macAddress: {string: x}}]}}",
			refused: []string{"not a MAC address"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := oldObject(t, test.kind, "nodes-0", test.spec)
			object.SetNamespace("default")
			checkAnswer(t, server.Client.Create(t.Context(), object, client.DryRunAll), test.refused)
		})
	}
}

func oldObject(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := newObject(t, kind, spec)
	object.SetAPIVersion(v1beta1.GroupVersion.String())
	object.SetName(name)
	return object
}
