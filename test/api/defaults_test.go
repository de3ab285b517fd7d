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
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDefaults compares what is sent with what the server makes of it.
func TestDefaults(t *testing.T) {
	tests := map[string]struct{ kind, spec, want string }{
		"a host gets the usual port, and no cloud provider is expected": {
			kind: "Metal3Cluster", spec: "controlPlaneEndpoint: {host: h}",
			want: "cloudProviderEnabled: false\ncontrolPlaneEndpoint: {host: h, port: 6443}",
		},
		"a port of 0 becomes the usual one, as with CAPM3": {
			kind: "Metal3Cluster", spec: "cloudProviderEnabled: true\ncontrolPlaneEndpoint: {host: h, port: 0}",
			want: "cloudProviderEnabled: true\ncontrolPlaneEndpoint: {host: h, port: 6443}",
		},
		"an endpoint that a control plane provider sets stays empty": {kind: "Metal3Cluster", want: "cloudProviderEnabled: false"},
		"a template of clusters says nothing of a cloud provider": {
			kind: "Metal3ClusterTemplate", spec: "template: {spec: {controlPlaneEndpoint: {host: h}}}",
			want: "template: {spec: {controlPlaneEndpoint: {host: h, port: 6443}}}",
		},
		"nodes are not reused": {
			kind: "Metal3MachineTemplate", spec: "template: {spec: {customDeploy: {method: m}}}",
			want: "nodeReuse: false\ntemplate: {spec: {customDeploy: {method: m}}}",
		},
		"a machine stays as it is": {
			kind: "Metal3Machine", spec: "customDeploy: {method: m}", want: "customDeploy: {method: m}",
		},
		"an index counts in steps of 1, and a pool is an IPPool of metal3": {
			kind: "Metal3DataTemplate", spec: "metaData: {indexes: [{key: k}], gatewaysFromPool: [{key: g, name: p}]}",
			want: "metaData: {indexes: [{key: k, step: 1}], gatewaysFromPool: [{key: g, name: p, kind: IPPool, apiGroup: ipam.metal3.io}]}",
		},
		"a link has the MTU of Ethernet": {
			kind: "Metal3DataTemplate", spec: "networkData: {links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: e}}]}}",
			want: "networkData: {links: {ethernets: [{type: phy, id: a, mtu: 1500, macAddress: {fromHostInterface: e}}]}}",
		},
		"a remediation without a strategy stays as it is": {kind: "Metal3Remediation", spec: "{}", want: "{}"},
		"a strategy is to reboot once, and to wait 10 minutes": {
			kind: "Metal3RemediationTemplate", spec: "template: {spec: {strategy: {}}}",
			want: "template: {spec: {strategy: {type: Reboot, retryLimit: 1, timeoutSeconds: 600}}}",
		},
	}
	namespace := server.Namespace(t, "defaults", nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := newObject(t, test.kind, test.spec)
			object.SetNamespace(namespace)
			object.SetName("example")
			if err := server.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Fatal(err)
			}
			want := newObject(t, test.kind, test.want)
			if diff := cmp.Diff(inJSON(t, want.Object["spec"]), inJSON(t, object.Object["spec"])); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// inJSON makes numbers that YAML and the server read differently the same.
func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// listener hears the warnings of an API server.
type listener struct{ heard []string }

// HandleWarningHeader notes a warning.
func (l *listener) HandleWarningHeader(_ int, _, text string) {
	l.heard = append(l.heard, text)
}

// listen returns a client and what its user is warned of.
func listen(t *testing.T) (client.Client, *listener) {
	t.Helper()
	ear := &listener{}
	config := rest.CopyConfig(server.Config)
	config.WarningHandler = ear
	c, err := client.New(config, client.Options{Scheme: server.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, ear
}

// TestWarnings sends objects that are taken with a warning, such as those that are not
// carried out yet: the answer to kubectl apply is what their author reads.
func TestWarnings(t *testing.T) {
	tests := map[string]struct {
		kind, spec string
		want       []string
	}{
		"a template without a fault is taken without a word": {kind: "Metal3DataTemplate", spec: "metaData: {namespaces: [{key: k}]}"},
		"the cluster name of old templates is out of use": {
			kind: "Metal3DataTemplate", spec: "clusterName: old", want: []string{"spec.clusterName is not used any more: leave it out"},
		},
		"a key of two lists counts once": {
			kind: "Metal3DataTemplate", spec: "metaData: {strings: [{key: k, value: x}], namespaces: [{key: k}]}",
			want: []string{`spec.metaData: key "k" is in strings and namespaces: only strings counts`},
		},
		"a template of machines that only serves another namespace": {
			kind: "Metal3MachineTemplate", spec: "template: {spec: {customDeploy: {method: m}, userData: {name: x, namespace: elsewhere}}}",
			want: []string{`spec.template.spec.userData.namespace is "elsewhere": machines of any other namespace, such as this one, are refused; leave it out`},
		},
	}
	namespace := server.Namespace(t, "warnings", nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, ear := listen(t)
			object := newObject(t, test.kind, test.spec)
			object.SetNamespace(namespace)
			object.SetName("example")
			if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, ear.heard); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// Machines of two clusters with one endpoint join whichever answers there, and nothing else says so.
func TestWarnedOfAnEndpointThatAnotherClusterHas(t *testing.T) {
	warned := func(namespace, name, endpoint string) []string {
		t.Helper()
		c, ear := listen(t)
		object := newObject(t, "Metal3Cluster", "controlPlaneEndpoint: "+endpoint)
		object.SetNamespace(namespace)
		object.SetName(name)
		if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		return ear.heard
	}
	namespace, other := server.Namespace(t, "endpoints", nil), server.Namespace(t, "endpoints", nil)
	first := newObject(t, "Metal3Cluster", "controlPlaneEndpoint: {host: 192.0.2.1, port: 443}")
	first.SetNamespace(namespace)
	first.SetName("first")
	if err := server.Client.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	want := []string{"spec.controlPlaneEndpoint: Metal3Cluster first has 192.0.2.1 port 443 as well: give each cluster one of its own"}
	var heard []string
	// The webhook reads from a cache.
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, admissionDelay, true, func(context.Context) (bool, error) {
		heard = warned(namespace, "second", "{host: 192.0.2.1, port: 443}")
		return cmp.Equal(want, heard), nil
	})
	if err != nil {
		t.Errorf("%v: heard %q, want %q", err, heard, want)
	}
	for _, fine := range [][]string{
		warned(namespace, "second", "{host: 192.0.2.1, port: 444}"), warned(other, "second", "{host: 192.0.2.1, port: 443}"),
	} {
		if len(fine) > 0 {
			t.Errorf("warned without a cause: %q", fine)
		}
	}
}

// TestWebhooksAreAskedAboutSpecs changes objects that get a warning whenever a webhook looks
// at them: those who only label them, or put finalizers on, wait for no webhook.
func TestWebhooksAreAskedAboutSpecs(t *testing.T) {
	tests := map[string]struct{ kind, spec, change string }{
		"a machine": {
			kind: "Metal3Machine", spec: "{customDeploy: {method: m}, automatedCleaningMode: disabled}",
			change: `{"spec": {"userData": {"name": "x"}}}`,
		},
		"a template of machines": {
			kind: "Metal3MachineTemplate", spec: "template: {spec: {customDeploy: {method: m}, automatedCleaningMode: disabled}}",
			change: `{"spec": {"nodeReuse": true}}`,
		},
	}
	namespace := server.Namespace(t, "asked", nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, ear := listen(t)
			object := newObject(t, test.kind, test.spec)
			object.SetNamespace(namespace)
			object.SetName("example")
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			patch := func(text string) (warnings int) {
				ear.heard = nil
				if err := c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
					t.Fatal(err)
				}
				return len(ear.heard)
			}
			if n := patch(`{"metadata": {"labels": {"l": "v"}, "annotations": {"a": "v"}, "finalizers": ["example.com/f"]}}`); n > 0 {
				t.Errorf("a webhook was asked about metadata: %q", ear.heard)
			}
			if n := patch(test.change); n == 0 {
				t.Error("no webhook was asked about a spec")
			}
			patch(`{"metadata": {"finalizers": null}}`)
		})
	}
}
