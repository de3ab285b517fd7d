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

package preflight

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestUnmovable(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	crd := func(name string, labels map[string]string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		crd("hostclaims.metal3.io", map[string]string{"clusterctl.cluster.x-k8s.io": ""}),
		crd("baremetalhosts.metal3.io", map[string]string{"other": ""}),
		crd("hardwaredata.metal3.io", nil),
	).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if key.Name == "clusters.cluster.x-k8s.io" {
				return errors.New("forbidden")
			}
			return c.Get(ctx, key, object, opts...)
		},
	}).Build()
	got, err := unmovable(t.Context(), reader, []string{
		"hostclaims.metal3.io", "clusters.cluster.x-k8s.io", "hardwaredata.metal3.io", "ippools.ipam.metal3.io", "baremetalhosts.metal3.io",
	})
	if diff := cmp.Diff([]string{"hardwaredata.metal3.io", "baremetalhosts.metal3.io"}, got); diff != "" {
		t.Errorf("CRDs without the label (-want +got):\n%s", diff)
	}
	if err == nil {
		t.Error("the CRD that cannot be read is not in the error")
	}
}
