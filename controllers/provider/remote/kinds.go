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

package remote

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds are what this package knows of other clusters: they are not asked.
type kinds struct {
	scheme *runtime.Scheme
	mapper meta.RESTMapper
}

func newKinds() (kinds, error) {
	k := kinds{scheme: runtime.NewScheme()}
	builder := runtime.NewSchemeBuilder(corev1.AddToScheme, authorizationv1.AddToScheme, bmov1alpha1.AddToScheme)
	if err := builder.AddToScheme(k.scheme); err != nil {
		return kinds{}, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	add := func(version schema.GroupVersion, kind, plural, singular string, scope meta.RESTScope) {
		mapper.AddSpecific(version.WithKind(kind), version.WithResource(plural), version.WithResource(singular), scope)
		mapper.Add(version.WithKind(kind+"List"), scope) // caches ask for the scope of lists too
	}
	add(bmov1alpha1.GroupVersion, "HostClaim", "hostclaims", "hostclaim", meta.RESTScopeNamespace)
	add(bmov1alpha1.GroupVersion, "HardwareData", "hardwaredata", "hardwaredata", meta.RESTScopeNamespace)
	add(corev1.SchemeGroupVersion, "Secret", "secrets", "secret", meta.RESTScopeNamespace)
	add(authorizationv1.SchemeGroupVersion, "SelfSubjectAccessReview", "selfsubjectaccessreviews",
		"selfsubjectaccessreview", meta.RESTScopeRoot)
	k.mapper = mapper
	return k, nil
}
