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

package conversion

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func refUp(in *v1beta1.ObjectReference) *infrav1.Metal3ObjectRef {
	if in == nil {
		return nil
	}
	return &infrav1.Metal3ObjectRef{Name: in.Name, Namespace: in.Namespace}
}

func refDown(in *infrav1.Metal3ObjectRef) *v1beta1.ObjectReference {
	if in == nil {
		return nil
	}
	return &v1beta1.ObjectReference{Name: in.Name, Namespace: in.Namespace}
}

func conditionsUp(in *v1beta1.V1Beta2Status) []metav1.Condition {
	return ptr.Deref(in, v1beta1.V1Beta2Status{}).Conditions
}

func conditionsDown(in []metav1.Condition) *v1beta1.V1Beta2Status {
	if len(in) == 0 {
		return nil
	}
	return &v1beta1.V1Beta2Status{Conditions: in}
}
