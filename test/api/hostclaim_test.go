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
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

// The schemas of these kinds are baremetal-operator's.
// The cases here are those that our two managers rely on.
func TestHostClaim(t *testing.T) {
	checkExamples(t, map[string]example{
		"a claim for any host is fine": {kind: "HostClaim", spec: "poweredOn: false"},
		"a claim needs a power state":  {kind: "HostClaim", spec: "{}", refused: []string{"spec.poweredOn: Required value"}},
		"a claim may select hosts": {
			kind: "HostClaim",
			spec: "poweredOn: true\nhostSelector:\n  inNamespace: infra\n  matchLabels: {rack: a1}\n  matchExpressions: [{key: gpu, operator: Exists, values: []}]",
		},
		"a requirement always lists its values, be it none": {
			kind: "HostClaim", spec: "poweredOn: true\nhostSelector: {matchExpressions: [{key: gpu, operator: Exists}]}",
			refused: []string{"spec.hostSelector.matchExpressions[0].values: Required value"},
		},
		"a requirement with null as its values is refused": {
			kind: "HostClaim", spec: "poweredOn: true\nhostSelector: {matchExpressions: [{key: gpu, operator: Exists, values: null}]}",
			refused: []string{"spec.hostSelector.matchExpressions[0].values"},
		},
		"a workload is an image with its data": {
			kind: "HostClaim",
			spec: "poweredOn: true\nimage: {url: 'oci://registry/u:1', ociAuthSecretName: pull}\nuserData: {name: u}\nmetaData: {name: m}\nnetworkData: {name: net}",
		},
		"the checksum type may be found out by the host": {
			kind: "HostClaim", spec: "poweredOn: true\nimage: {url: 'http://images/u', checksum: abc, checksumType: auto, format: raw}",
		},
		"an unknown checksum type is refused": {
			kind: "HostClaim", spec: "poweredOn: true\nimage: {url: 'http://images/u', checksum: abc, checksumType: sha1}",
			refused: []string{"spec.image.checksumType: Unsupported value: \"sha1\"", `"md5", "sha256", "sha512", "auto"`},
		},
		"an image needs a URL":               {kind: "HostClaim", spec: "poweredOn: true\nimage: {checksum: abc}", refused: []string{"spec.image.url: Required value"}},
		"a custom deployment needs a method": {kind: "HostClaim", spec: "poweredOn: true\ncustomDeploy: {}", refused: []string{"spec.customDeploy.method: Required value"}},
	})
}

func TestHostDeployPolicy(t *testing.T) {
	checkExamples(t, map[string]example{
		"a policy without a spec is fine and admits no claim":     {kind: "HostDeployPolicy"},
		"a policy of empty namespaces admits everybody":           {kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {}"},
		"a policy of no names is fine and admits no claim":        {kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {names: []}"},
		"names, a pattern and labels may stand side by side":      {kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {names: [a], nameMatches: 'tenant-.*', hasLabels: [{name: pool}, {name: size, value: big}]}"},
		"a broken pattern passes the schema and is the webhook's": {kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {nameMatches: '('}"},
		"a label needs a name": {
			kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {hasLabels: [{value: x}]}",
			refused: []string{"spec.hostClaimNamespaces.hasLabels[0].name: Required value"},
		},
	})
}

// Cluster API's topology controller finds out by a dry run of server-side apply
// whether a template has changed, and rolls machines out if so. Nothing that the
// server adds, defaults above all, may look like a change.
func TestApplyingATemplateAgainChangesNothing(t *testing.T) {
	const (
		topology = client.FieldOwner("capi-topology")
		machine  = "template: {spec: {image: {url: 'http://i/1', checksum: a}}}"
		network  = `networkData:
  links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth0}}], bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a], parameters: [{name: miimon, value: 100}]}]}
  networks: {ipv4: [{id: n1, link: a, fromPoolRef: {name: p}, routes: [{network: 0.0.0.0, gateway: {fromPoolRef: {name: p}}}]}]}
metaData: {indexes: [{key: k}], ipAddressesFromPool: [{key: k, name: p}]}`
	)
	namespace := server.Namespace(t, "apply", nil)
	full := func(kind string) *unstructured.Unstructured {
		object := everyField(t, kind, namespace)
		delete(object.Object, "status")
		return object
	}
	named := func(object *unstructured.Unstructured) *unstructured.Unstructured {
		object.SetName("short")
		return object
	}
	tests := map[string]*unstructured.Unstructured{
		"a Metal3ClusterTemplate with everything":     full("Metal3ClusterTemplate"),
		"a Metal3MachineTemplate with everything":     full("Metal3MachineTemplate"),
		"a Metal3DataTemplate with everything":        full("Metal3DataTemplate"),
		"a Metal3RemediationTemplate with everything": full("Metal3RemediationTemplate"),
		"a Metal3ClusterTemplate with defaults":       named(newObject(t, "Metal3ClusterTemplate", "template: {spec: {controlPlaneEndpoint: {host: h}}}")),
		"a Metal3MachineTemplate with defaults":       named(newObject(t, "Metal3MachineTemplate", machine)),
		"a Metal3DataTemplate with defaults":          named(newObject(t, "Metal3DataTemplate", network)),
		"a Metal3RemediationTemplate with defaults":   named(newObject(t, "Metal3RemediationTemplate", "template: {spec: {strategy: {}}}")),
	}
	for name, manifest := range tests {
		t.Run(name, func(t *testing.T) {
			manifest.SetNamespace(namespace)
			applied := func(options ...client.ApplyOption) map[string]any {
				object := manifest.DeepCopy()
				options = append(options, topology)
				if err := server.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
					t.Fatal(err)
				}
				return object.Object
			}
			first := applied()
			if diff := cmp.Diff(first, applied(client.DryRunAll)); diff != "" {
				t.Errorf("by a dry run (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(first, applied()); diff != "" {
				t.Errorf("in earnest (-first +second):\n%s", diff)
			}
		})
	}
}

// Lists are merged by their keys, so that two owners can each hold an entry, and
// routes as a whole, since they have no key.
func TestEntriesOfSeveralOwners(t *testing.T) {
	namespace := server.Namespace(t, "owners", nil)
	cluster := func(domain string) *unstructured.Unstructured {
		object := newObject(t, "Metal3Cluster", "failureDomains: [{name: "+domain+"}]")
		object.SetNamespace(namespace)
		object.SetName("shared")
		return object
	}
	var last *unstructured.Unstructured
	for owner, domain := range map[string]string{"one": "a", "two": "b"} {
		last = cluster(domain)
		if err := server.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(last), client.FieldOwner(owner)); err != nil {
			t.Fatal(err)
		}
	}
	domains, _, err := unstructured.NestedSlice(last.Object, "spec", "failureDomains")
	if err != nil || len(domains) != 2 {
		t.Errorf("failure domains of two owners: %v, %v", domains, err)
	}
}

// owner is who the tests write as.
const owner = client.FieldOwner("author")

// example is one object that a user could send, and the answer of the server.
type example struct {
	kind string
	// name of the object; "example" where it does not matter.
	name string
	// spec is YAML; empty for an object without a spec. ${NAMESPACE} stands for the
	// namespace that the object is in.
	spec string
	// refused is what the answer must contain; none for an object that is taken.
	refused []string
}

// checkExamples sends each example as a dry run and compares the answer.
func checkExamples(t *testing.T, examples map[string]example) {
	t.Helper()
	namespace := server.Namespace(t, "examples", nil)
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			object := newObject(t, e.kind, in(namespace, e.spec))
			object.SetNamespace(namespace)
			object.SetName("example")
			if e.name != "" {
				object.SetName(e.name)
			}
			err := server.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			checkAnswer(t, err, e.refused)
		})
	}
}

// in puts the name of a namespace into YAML that speaks of it.
func in(namespace, text string) string {
	return strings.ReplaceAll(text, "${NAMESPACE}", namespace)
}

func checkAnswer(t *testing.T, err error, refused []string) {
	t.Helper()
	switch {
	case len(refused) == 0 && err != nil:
		t.Errorf("refused: %v", err)
	case len(refused) > 0 && err == nil:
		t.Errorf("taken, want an answer with %q", refused)
	case err != nil:
		for _, want := range refused {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the answer lacks %q:\n%v", want, err)
			}
		}
	}
}

// newObject makes an object of one of our kinds from the YAML of its spec.
func newObject(t *testing.T, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kindOf(t, kind))
	if spec == "" {
		return object
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict([]byte(spec), &content); err != nil {
		t.Fatalf("the spec is no YAML: %v\n%s", err, spec)
	}
	object.Object["spec"] = content
	return object
}

// kindOf completes a kind by the group and the stored version of its CRD.
func kindOf(t *testing.T, kind string) schema.GroupVersionKind {
	t.Helper()
	version := storedVersion(t, kind).Name
	return schema.GroupVersionKind{Group: crds[kind].Spec.Group, Version: version, Kind: kind}
}

// storedVersion is the version of a kind that its CRD stores.
func storedVersion(t *testing.T, kind string) apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	versions := crds[kind].Spec.Versions
	i := slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 {
		t.Fatalf("config/ has no CRD of kind %s that stores a version", kind)
	}
	return versions[i]
}

// readObjects reads the objects of a file of testdata, as they are in a namespace.
func readObjects(t *testing.T, file, namespace string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Process(text, manifests.Variables{"NAMESPACE": namespace})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, object := range objects {
		object.SetNamespace(namespace)
	}
	return objects
}

// apply sends the object as kubectl apply --server-side does.
func apply(ctx context.Context, object *unstructured.Unstructured, options ...client.ApplyOption) error {
	return server.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), append(options, owner)...)
}

// indented puts text into YAML at a depth.
func indented(depth int, text string) string {
	pad := strings.Repeat(" ", depth)
	return pad + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+pad)
}

// template wraps the spec of a kind into that of its template.
func template(spec string) string {
	return fmt.Sprintf("template:\n  spec:\n%s\n", indented(4, spec))
}
