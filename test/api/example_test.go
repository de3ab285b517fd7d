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
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

// owner is who the tests write as.
const owner = client.FieldOwner("author")

// example is one object that a user could send, and what the server says.
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
	crd, found := crds[kind]
	if !found {
		t.Fatalf("config/ has no CRD of kind %s", kind)
	}
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: kind}
		}
	}
	t.Fatalf("the CRD of kind %s stores no version", kind)
	return schema.GroupVersionKind{}
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
