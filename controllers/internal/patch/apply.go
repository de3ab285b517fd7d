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

// Package patch writes objects as controllers do: by server-side apply, the whole object under the
// controller's one field owner; by merge patches that are locked on the version that was read; and
// the changes of a pass at its end.
package patch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply applies the object and takes over fields that others have written.
// The object is not changed. With its UID set, the object is only written if it
// still exists under that UID; without, it is created when it is missing. With
// its resourceVersion set, it is only written if it has not changed since.
func Apply(ctx context.Context, writer client.Client, object client.Object, fieldOwner string) error {
	_, err := ApplyVersioned(ctx, writer, object, fieldOwner)
	return err
}

// OnlyNew is a resourceVersion that no object has. An object with it is created by Apply and
// ApplyVersioned, and one of that name that exists already is a conflict.
const OnlyNew = "1"

// ApplyVersioned is Apply, and returns the resourceVersion that the object has then.
func ApplyVersioned(ctx context.Context, writer client.Client, object client.Object, fieldOwner string) (version string, err error) {
	content, err := content(writer, object)
	if err != nil {
		return "", err
	}
	err = writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(content),
		client.FieldOwner(fieldOwner), client.ForceOwnership)
	return content.GetResourceVersion(), err
}

// content is what is sent: neither status nor fields that the API server fills.
func content(writer client.Client, object client.Object) (*unstructured.Unstructured, error) {
	gvk, err := writer.GroupVersionKindFor(object)
	if err != nil {
		return nil, fmt.Errorf("kind of %T: %w", object, err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(gvk)
	u.SetManagedFields(nil)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}
