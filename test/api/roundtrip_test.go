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
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/webhooks"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// everyField reads the object of a kind that has every field set.
func everyField(t *testing.T, kind, namespace string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range readObjects(t, "every-field.yaml", namespace) {
		if object.GetKind() == kind {
			return object
		}
	}
	t.Fatalf("testdata/every-field.yaml has no %s", kind)
	return nil
}

// store creates the object and writes its status; it returns what the server
// then holds.
func store(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	created := object.DeepCopy()
	strict := client.FieldValidation(metav1.FieldValidationStrict)
	if err := server.Client.Create(ctx, created, strict); err != nil {
		return nil, err
	}
	if status, found := object.Object["status"]; found {
		before := created.DeepCopy()
		created.Object["status"] = status
		if err := server.Client.Status().Patch(ctx, created, client.MergeFrom(before), strict); err != nil {
			return nil, fmt.Errorf("status: %w", err)
		}
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(object.GroupVersionKind())
	return stored, server.Client.Get(ctx, client.ObjectKeyFromObject(created), stored)
}

func TestEveryFieldIsStored(t *testing.T) {
	namespace := server.Namespace(t, "every", nil)
	for kind := range crds {
		t.Run(kind, func(t *testing.T) {
			sent := everyField(t, kind, namespace)
			for _, path := range unsetInSchema(schemaOf(t, kind), sent.Object) {
				t.Errorf("testdata/every-field.yaml does not set %s", path)
			}
			stored, err := store(t.Context(), sent)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"spec", "status"} {
				if diff := cmp.Diff(sent.Object[part], stored.Object[part]); diff != "" {
					t.Errorf("%s (-sent +stored):\n%s", part, diff)
				}
			}
		})
	}
}

// The Go types hold every field of the CRDs, under the same names, and the other
// way around.
func TestEveryFieldIsInTheGoTypes(t *testing.T) {
	namespace := server.Namespace(t, "types", nil)
	for kind := range crds {
		t.Run(kind, func(t *testing.T) {
			sent := everyField(t, kind, namespace)
			typed := toGo(t, sent)
			for _, path := range unsetInGo(reflect.TypeOf(typed).Elem(), []reflect.Value{reflect.ValueOf(typed).Elem()}, kind) {
				t.Errorf("%s is set in no object", path)
			}

			stored := typed.DeepCopyObject().(client.Object)
			strict := client.FieldValidation(metav1.FieldValidationStrict)
			if err := server.Client.Create(t.Context(), stored, strict); err != nil {
				t.Fatal(err)
			}
			if _, found := sent.Object["status"]; found {
				status := typed.DeepCopyObject().(client.Object)
				status.SetResourceVersion(stored.GetResourceVersion())
				if err := server.Client.Status().Patch(t.Context(), status, client.MergeFrom(stored), strict); err != nil {
					t.Fatal(err)
				}
			}
			if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(typed), stored); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(typed, stored, cmp.FilterPath(isMetadata, cmp.Ignore())); diff != "" {
				t.Errorf("(-sent +stored):\n%s", diff)
			}
			back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"spec", "status"} {
				if sent.Object[part] == nil {
					continue
				}
				if diff := cmp.Diff(sent.Object[part], back[part]); diff != "" {
					t.Errorf("%s (-manifest +Go type):\n%s", part, diff)
				}
			}
		})
	}
}

func isMetadata(path cmp.Path) bool {
	return path.Last().String() == ".ObjectMeta" || path.Last().String() == ".TypeMeta"
}

// toGo turns the object into its Go type; a field that the type lacks is an error.
func toGo(t *testing.T, object *unstructured.Unstructured) client.Object {
	t.Helper()
	created, err := server.Scheme.New(object.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, created, true); err != nil {
		t.Fatalf("the Go type of %s: %v", object.GetKind(), err)
	}
	return created.(client.Object)
}

func schemaOf(t *testing.T, kind string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	schema := *storedVersion(t, kind).Schema.OpenAPIV3Schema.DeepCopy()
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(schema.Properties, name)
	}
	return schema
}

// unsetInSchema lists the fields of the schema that the values do not set, be it
// in one item of a list.
func unsetInSchema(schema apiextensionsv1.JSONSchemaProps, values ...any) []string {
	var unset []string
	for name, field := range schema.Properties {
		inner, found := fields(values, name)
		if !found && !isEmptyObject(field) {
			unset = append(unset, name)
		}
		if !found {
			continue
		}
		for _, path := range unsetInSchema(field, inner...) {
			unset = append(unset, name+"."+path)
		}
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		unset = append(unset, unsetInSchema(*schema.Items.Schema, values...)...)
	}
	slices.Sort(unset)
	return unset
}

// isEmptyObject reports whether the schema has nothing to set.
func isEmptyObject(schema apiextensionsv1.JSONSchemaProps) bool {
	return schema.Type == "object" && len(schema.Properties) == 0 && schema.AdditionalProperties == nil
}

// fields collects the values under a name, with lists taken apart.
func fields(values []any, name string) (found []any, set bool) {
	for _, value := range values {
		object, isObject := value.(map[string]any)
		if !isObject {
			continue
		}
		field, here := object[name]
		if !here {
			continue
		}
		set = true
		if list, isList := field.([]any); isList {
			found = append(found, list...)
			continue
		}
		found = append(found, field)
	}
	return found, set
}

// leaves are structs that count as one value.
var leaves = []reflect.Type{
	reflect.TypeFor[metav1.TypeMeta](),
	reflect.TypeFor[metav1.ObjectMeta](),
	reflect.TypeFor[metav1.Time](),
	reflect.TypeFor[apiextensionsv1.JSON](),
	reflect.TypeFor[resource.Quantity](),
}

// unsetInGo lists the fields of the type that are zero in all values.
func unsetInGo(of reflect.Type, values []reflect.Value, path string) []string {
	var inner []reflect.Value
	switch of.Kind() {
	case reflect.Pointer:
		for _, value := range values {
			if !value.IsNil() {
				inner = append(inner, value.Elem())
			}
		}
		return unsetInGo(of.Elem(), inner, path)
	case reflect.Slice:
		for _, value := range values {
			for i := range value.Len() {
				inner = append(inner, value.Index(i))
			}
		}
		return unsetInGo(of.Elem(), inner, path+"[]")
	case reflect.Struct:
		if !slices.Contains(leaves, of) {
			return unsetFields(of, values, path)
		}
	}
	if !slices.ContainsFunc(values, func(v reflect.Value) bool { return !v.IsZero() }) && of != leaves[0] {
		return []string{path}
	}
	return nil
}

func unsetFields(of reflect.Type, values []reflect.Value, path string) []string {
	var unset []string
	for i := range of.NumField() {
		field := of.Field(i)
		if !field.IsExported() {
			continue
		}
		var inner []reflect.Value
		for _, value := range values {
			inner = append(inner, value.Field(i))
		}
		unset = append(unset, unsetInGo(field.Type, inner, path+"."+field.Name)...)
	}
	return unset
}

// admissionDelay is how long webhooks may take to come into force.
const admissionDelay = time.Minute

// serveWebhooks runs the webhooks of the provider manager at the given place, and nothing else of it,
// until ctx ends.
func serveWebhooks(ctx context.Context, at harness.Webhooks) (<-chan error, error) {
	if err := server.InstallConfig(ctx, "webhook", at); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(server.Config, ctrl.Options{
		Scheme:        server.Scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Port: at.Port, CertDir: at.CertDir}),
	})
	if err != nil {
		return nil, err
	}
	if err := webhooks.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ended, errors.Join(awaitValidation(ctx), awaitDefaults(ctx))
}

// awaitDefaults waits until the webhook that completes clusters does so.
func awaitDefaults(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, admissionDelay, true, func(context.Context) (bool, error) {
		cluster := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}}
		err := server.Client.Create(ctx, cluster, client.DryRunAll)
		return cluster.Spec.CloudProviderEnabled != nil, err
	})
}

// awaitValidation waits until each webhook refuses what it is there to refuse. They
// come into force one after the other.
func awaitValidation(ctx context.Context) error {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "probe"}
	elsewhere := &infrav1.Metal3ObjectRef{Name: "x", Namespace: "elsewhere"}
	spec := infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "m"}, DataTemplate: elsewhere}
	broken := clusterv1.ObjectMeta{Labels: map[string]string{"?": ""}}
	for _, probe := range []client.Object{
		&infrav1.Metal3ClusterTemplate{ObjectMeta: meta, Spec: infrav1.Metal3ClusterTemplateSpec{
			Template: infrav1.Metal3ClusterTemplateResource{ObjectMeta: broken},
		}},
		&infrav1.Metal3Machine{ObjectMeta: meta, Spec: spec},
		&infrav1.Metal3MachineTemplate{ObjectMeta: meta, Spec: infrav1.Metal3MachineTemplateSpec{
			Template: infrav1.Metal3MachineTemplateResource{ObjectMeta: broken, Spec: spec},
		}},
		&infrav1.Metal3DataTemplate{ObjectMeta: meta, Spec: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{
			Networks: &infrav1.NetworkDataNetwork{IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "n", Link: "none"}}},
		}}},
		&infrav1.Metal3DataClaim{ObjectMeta: meta, Spec: infrav1.Metal3DataClaimSpec{Template: elsewhere}},
	} {
		if err := refusedInTime(ctx, probe); err != nil {
			return fmt.Errorf("the webhook of %T is not in force: %w", probe, err)
		}
	}
	return nil
}

func refusedInTime(ctx context.Context, probe client.Object) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, admissionDelay, true, func(context.Context) (bool, error) {
		last = server.Client.Create(ctx, probe, client.DryRunAll)
		return apierrors.IsInvalid(last), nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w; the last answer was: %w", err, last)
	}
	return err
}
