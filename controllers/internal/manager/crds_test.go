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

package manager

import (
	"context"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var version = schema.GroupVersion{Group: "metal3.io", Version: "v1alpha1"}

func need(kind string) CRD {
	return CRD{Name: strings.ToLower(kind) + "s.metal3.io", Kind: version.WithKind(kind), Remedy: "install it"}
}

// unreachable is a mapper whose API server does not answer.
type unreachable struct{ meta.RESTMapper }

func (unreachable) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("connection refused")
}

func TestRequireCRDs(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(version.WithKind("HostClaim"), meta.RESTScopeNamespace)
	tests := map[string]struct {
		mapper meta.RESTMapper
		needs  []CRD
		want   []string
	}{
		"passes when nothing is needed":         {mapper: mapper},
		"passes when the kind exists":           {mapper: mapper, needs: []CRD{need("HostClaim")}},
		"names each missing CRD and the remedy": {mapper: mapper, needs: []CRD{need("HostClaim"), need("Foo"), need("Bar")}, want: []string{"foos.metal3.io", "bars.metal3.io", "install it"}},
		"tells a server that does not answer":   {mapper: unreachable{}, needs: []CRD{need("Foo")}, want: []string{"kubeconfig", "connection refused"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := requireCRDs(tt.mapper, tt.needs)
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("error %v, want one that says %q", err, tt.want)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestUnmovable(t *testing.T) {
	scheme := runtime.NewScheme()
	expect.NoError(t, apiextensionsv1.AddToScheme(scheme))
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
	expect.Equal(t, []string{"hardwaredata.metal3.io", "baremetalhosts.metal3.io"}, got)
	if err == nil {
		t.Error("the CRD that cannot be read is not in the error")
	}
}
