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

package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	found, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestProcess(t *testing.T) {
	tests := map[string]struct {
		template  string
		variables Variables
		want      []any
		wantError string
	}{
		"a given value wins over the default": {
			template:  "a: ${X:=1}",
			variables: Variables{"X": "2"},
			want:      []any{map[string]any{"a": int64(2)}},
		},
		"the default is used where nothing is given": {
			template: "a: ${X:=text}",
			want:     []any{map[string]any{"a": "text"}},
		},
		"an empty default is none, as for clusterctl": {
			template:  "a: x${X:=}",
			wantError: "[X]",
		},
		"a value may be missing only where there is a default": {
			template:  "a: ${X}\nb: ${Y}\nc: ${Z:=1}",
			variables: Variables{"Y": "1"},
			wantError: "[X]",
		},
		"braces of other languages are left alone": {
			template: "a: '{{ ds.meta_data.uuid }}'",
			want:     []any{map[string]any{"a": "{{ ds.meta_data.uuid }}"}},
		},
		"empty documents are dropped": {
			template: "---\na: 1\n---\n# nothing\n---\nb: 2\n",
			want:     []any{map[string]any{"a": int64(1)}, map[string]any{"b": int64(2)}},
		},
		"what is no YAML is an error that says where": {
			template:  "a: 1\n---\n\t: :",
			wantError: "document 2",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := Process([]byte(tt.template), tt.variables)
			if tt.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantError) {
					t.Fatalf("error %v does not say %q", err, tt.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []any
			for _, object := range found {
				got = append(got, object.Object)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRender(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kustomization.yaml": "namePrefix: my-\nresources: [a.yaml]\n",
		"a.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '${X:=one}'}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Render(dir, Variables{"X": "two"})
	if err != nil {
		t.Fatal(err)
	}
	want := objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: my-a}\ndata: {x: two}\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Render(filepath.Join(dir, "none"), nil); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("the error must name the folder: %v", err)
	}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: sys}
spec:
  template:
    spec:
      serviceAccountName: m
      containers:
      - name: m
        args: [--leader-elect]
        env: [{name: GOGC, value: "80"}, {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
`

func TestSplit(t *testing.T) {
	const others = `
apiVersion: v1
kind: Service
metadata: {name: s, namespace: sys}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: m, namespace: sys}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: c, namespace: sys}
---
`
	workload, kept, err := Split(objects(t, others+deployment))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Workload{Namespace: "sys", ServiceAccount: "m", Args: []string{"--leader-elect"}, Env: []string{"GOGC=80"}}, workload); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
	want := objects(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: sys}\n---\n"+
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: m, namespace: sys}\n")
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if _, again, err := Split(append(want, objects(t, deployment)...)); err != nil || len(again) != 2 {
		t.Errorf("a namespace that is there must not be doubled: %v, %v", again, err)
	}
}

func TestSplitRefusesWhatItCannotRun(t *testing.T) {
	for name, text := range map[string]string{
		"no Deployment":   "apiVersion: v1\nkind: Namespace\nmetadata: {name: sys}\n",
		"two Deployments": deployment + "---" + deployment,
		"no account":      strings.Replace(deployment, "serviceAccountName: m", "{}", 1),
	} {
		if _, _, err := Split(objects(t, strings.ReplaceAll(text, "      {}\n", ""))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUseURLs(t *testing.T) {
	const before = `
kind: ValidatingWebhookConfiguration
metadata: {name: v}
webhooks:
- name: a
  clientConfig: {service: {name: s, namespace: sys, path: /validate}}
- name: b
  clientConfig: {url: 'https://other/'}
---
kind: CustomResourceDefinition
metadata: {name: converted}
spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: s, path: /convert}, caBundle: Cg==}}}}
---
kind: CustomResourceDefinition
metadata: {name: plain}
spec: {conversion: {strategy: None}}
---
kind: ExtensionConfig
metadata: {name: e, annotations: {runtime.cluster.x-k8s.io/inject-ca-from-secret: sys/s, other: stays}}
spec: {clientConfig: {service: {name: s, namespace: sys, port: 9444}}, namespaceSelector: {}}
`
	const after = `
kind: ValidatingWebhookConfiguration
metadata: {name: v}
webhooks:
- name: a
  clientConfig: {url: 'https://127.0.0.1:1/validate', caBundle: Y2E=}
- name: b
  clientConfig: {url: 'https://other/'}
---
kind: CustomResourceDefinition
metadata: {name: converted}
spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:1/convert', caBundle: Y2E=}}}}
---
kind: CustomResourceDefinition
metadata: {name: plain}
spec: {conversion: {strategy: None}}
---
kind: ExtensionConfig
metadata: {name: e, annotations: {other: stays}}
spec: {clientConfig: {url: 'https://127.0.0.1:2', caBundle: Y2E=}, namespaceSelector: {}}
`
	got := objects(t, before)
	if err := UseURLs(got, Endpoint{URL: "https://127.0.0.1:1", Extension: "https://127.0.0.1:2", CA: []byte("ca")}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(objects(t, after), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if extensions, rest := Extensions(got); len(extensions) != 1 || extensions[0].GetName() != "e" || len(rest) != len(got)-1 {
		t.Errorf("extensions are %v, and the rest are %d", extensions, len(rest))
	}
	broken := objects(t, "kind: MutatingWebhookConfiguration\nmetadata: {name: m}\nwebhooks: [text]\n")
	if err := UseURLs(broken, Endpoint{}); err == nil || !strings.Contains(err.Error(), "MutatingWebhookConfiguration m") {
		t.Errorf("the error must name the object: %v", err)
	}
}

func TestLabelKinds(t *testing.T) {
	got := objects(t, `
kind: CustomResourceDefinition
metadata: {name: of a provider, labels: {cluster.x-k8s.io/provider: p}}
---
kind: CustomResourceDefinition
metadata: {name: of none}
---
kind: Role
metadata: {name: no kind, labels: {cluster.x-k8s.io/provider: p}}
`)
	LabelKinds(got)
	want := []map[string]string{{"cluster.x-k8s.io/provider": "p", "clusterctl.cluster.x-k8s.io": ""}, nil, {"cluster.x-k8s.io/provider": "p"}}
	for i, object := range got {
		if diff := cmp.Diff(want[i], object.GetLabels()); diff != "" {
			t.Errorf("labels of %q (-want +got):\n%s", object.GetName(), diff)
		}
	}
}

func TestMerge(t *testing.T) {
	first := objects(t, "apiVersion: g/v1\nkind: A\nmetadata: {name: one}\n---\napiVersion: g/v1\nkind: A\nmetadata: {name: two}\n")
	later := objects(t, "apiVersion: g/v2\nkind: A\nmetadata: {name: one}\n---\n"+
		"apiVersion: g/v1\nkind: A\nmetadata: {name: one, namespace: ns}\n---\n"+
		"apiVersion: other/v1\nkind: A\nmetadata: {name: one}\n")
	want := []*unstructured.Unstructured{later[0], first[1], later[1], later[2]}
	if diff := cmp.Diff(want, Merge(first, later)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestInPlaceUpdates renders the install with the runtime extension: the manager serves it, and
// Cluster API reaches it.
func TestInPlaceUpdates(t *testing.T) {
	rendered, err := Render(filepath.Join("..", "..", "..", "config", "in-place-updates"), nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind, name string) string {
		for _, o := range rendered {
			if o.GetKind() == kind && o.GetName() == name && (o.GetNamespace() == "" || o.GetNamespace() == "capm3-system") {
				text, err := o.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
		}
		t.Errorf("no %s %s", kind, name)
		return ""
	}
	for _, want := range []struct{ text, part string }{
		{of("Deployment", "capm3-controller-manager"), `"--runtime-extension-port=9444"`},
		{of("Deployment", "capm3-controller-manager"), `{"containerPort":9444,"name":"extension","protocol":"TCP"}`},
		{of("Service", "capm3-webhook-service"), `{"name":"webhooks","port":443,"targetPort":"webhook-server"}`},
		{of("Service", "capm3-webhook-service"), `{"name":"extension","port":9444,"targetPort":"extension"}`},
		{of("ExtensionConfig", "capm3-in-place-updates"), `"service":{"name":"capm3-webhook-service","namespace":"capm3-system","port":9444}`},
		{of("ExtensionConfig", "capm3-in-place-updates"), `"inject-ca-from-secret":"capm3-system/capm3-webhook-service-cert"`[1:]},
		{of("NetworkPolicy", "capm3-in-place-updates"), `{"kubernetes.io/metadata.name":"capi-system"}`},
		{of("ClusterRoleBinding", "capm3-in-place-updates"), `"name":"capm3-manager","namespace":"capm3-system"`},
	} {
		if !strings.Contains(want.text, want.part) {
			t.Errorf("%s is not in %s", want.part, want.text)
		}
	}
}
