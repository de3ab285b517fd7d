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

package standalone

import (
	"encoding/json"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// save brings a manifest of a claim to the API server as one command of kubectl
// does.
type save func(e *team, manifest *bmov1alpha1.HostClaim) error

// write changes the manifest of a claim and saves it.
func (e *team) write(name string, edit func(*bmov1alpha1.HostClaim)) {
	e.T.Helper()
	manifest, found := e.manifests[name]
	if !found {
		manifest = &bmov1alpha1.HostClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim"},
			ObjectMeta: metav1.ObjectMeta{Namespace: e.tenant, Name: name},
		}
		e.manifests[name] = manifest
	}
	edit(manifest)
	e.OK(e.save(e, manifest.DeepCopy()))
}

// create creates a claim, or patches the one that exists.
func create(e *team, manifest *bmov1alpha1.HostClaim) error {
	current := &bmov1alpha1.HostClaim{}
	err := e.Get(e.T.Context(), client.ObjectKeyFromObject(manifest), current)
	if apierrors.IsNotFound(err) {
		return e.Create(e.T.Context(), manifest)
	}
	if err != nil {
		return err
	}
	changed := current.DeepCopy()
	changed.Spec = manifest.Spec
	for key, value := range manifest.Annotations {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	}
	return e.Patch(e.T.Context(), changed, client.MergeFrom(current))
}

// apply is client-side apply, which leaves the whole manifest in an annotation.
func apply(e *team, manifest *bmov1alpha1.HostClaim) error {
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, corev1.LastAppliedConfigAnnotation, string(text))
	return create(e, manifest)
}

// serverSideApply takes over the fields that another command has written.
func serverSideApply(e *team, manifest *bmov1alpha1.HostClaim) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(manifest)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return e.Apply(e.T.Context(), client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner("kubectl"), client.ForceOwnership)
}
