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

package store

import (
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Version is an object as it was from one write to the next. It never changes.
type Version struct {
	// Kind and Key identify the object.
	Kind Kind
	Key  client.ObjectKey
	// RV is its resourceVersion, UID the identity of this incarnation.
	RV  string
	UID types.UID
	// JSON is the object as the API server shows it.
	JSON map[string]any

	owners   owners
	typed    client.Object // made on first use
	stripped *Version      // made on first use
}

// newVersion reads the identity out of an object.
func newVersion(kind Kind, object map[string]any) *Version {
	meta := metadata(object)
	return &Version{
		Kind: kind,
		Key:  client.ObjectKey{Namespace: text(meta, "namespace"), Name: text(meta, "name")},
		RV:   text(meta, "resourceVersion"),
		UID:  types.UID(text(meta, "uid")),
		JSON: object,
	}
}

// Object returns the object as its Go type. It is shared: do not change it.
func (v *Version) Object() client.Object {
	if v.typed == nil {
		v.typed = v.Kind.empty()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.JSON, v.typed); err != nil {
			panic(fmt.Sprintf("decode %s %s: %v", v.Kind, v.Key, err))
		}
	}
	return v.typed
}

// Stripped returns the object with nothing in what kubectl keeps in its annotations, as the
// caches of the managers hold it.
func (v *Version) Stripped() *Version {
	annotations, _ := metadata(v.JSON)["annotations"].(map[string]any)
	if _, applied := annotations[corev1.LastAppliedConfigAnnotation]; !applied {
		return v
	}
	if v.stripped == nil {
		object, meta := withMetadata(v.JSON)
		annotations = maps.Clone(annotations)
		annotations[corev1.LastAppliedConfigAnnotation] = ""
		meta["annotations"] = annotations
		v.stripped = newVersion(v.Kind, object)
		v.stripped.owners = v.owners
	}
	return v.stripped
}

// Metadata returns the object without spec and status.
func (v *Version) Metadata() *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(v.Kind.gvk())
	accessor, ok := v.Object().(metav1.ObjectMetaAccessor)
	if !ok {
		panic(fmt.Sprintf("a %T has no metadata", v.Object()))
	}
	meta, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		panic(fmt.Sprintf("the metadata of a %T are of another kind", v.Object()))
	}
	meta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// into writes a copy of the object to what a caller gave for the answer.
func (v *Version) into(out client.Object) {
	if partial, ok := out.(*metav1.PartialObjectMetadata); ok {
		*partial = *v.Metadata()
		return
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(v.Object().DeepCopyObject()).Elem())
}

// Labels returns the labels of the object.
func (v *Version) Labels() map[string]string {
	return v.Object().GetLabels()
}

// Deleting reports whether the object has a deletionTimestamp.
func (v *Version) Deleting() bool {
	return text(metadata(v.JSON), "deletionTimestamp") != ""
}

// metadata returns the metadata of an object, nil if it has none.
func metadata(object map[string]any) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	return meta
}

func text(object map[string]any, key string) string {
	value, _ := object[key].(string)
	return value
}

// withMetadata returns the object with a copy of its metadata that may be changed.
func withMetadata(object map[string]any) (map[string]any, map[string]any) {
	out := maps.Clone(object)
	meta := maps.Clone(metadata(object))
	if meta == nil {
		meta = map[string]any{}
	}
	out["metadata"] = meta
	return out, meta
}
