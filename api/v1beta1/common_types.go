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

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ObjectReference points at an object of this API group. Name and namespace count; v1beta2 has no others.
// +structType=atomic
type ObjectReference struct {
	// kind is the kind of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Kind string `json:"kind,omitempty"`

	// namespace is the namespace of the object; empty means that of the referring object,
	// and no other is allowed.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid is the UID of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	UID string `json:"uid,omitempty"`

	// apiVersion is the API version of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIVersion string `json:"apiVersion,omitempty"`

	// resourceVersion is the version of the object that is meant.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// fieldPath is the part of the object that is meant.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	FieldPath string `json:"fieldPath,omitempty"`
}

// V1Beta2Status holds status fields in the form of v1beta2.
type V1Beta2Status struct {
	// conditions are status.conditions of v1beta2.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
