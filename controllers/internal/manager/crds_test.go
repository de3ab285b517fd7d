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
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var group = schema.GroupVersion{Group: "metal3.io", Version: "v1alpha1"}

func need(kind string) CRD {
	return CRD{Name: strings.ToLower(kind) + "s.metal3.io", Kind: group.WithKind(kind), Remedy: "install it"}
}

// unreachable is a mapper whose API server does not answer.
type unreachable struct{ meta.RESTMapper }

func (unreachable) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("connection refused")
}

func TestRequireCRDs(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(group.WithKind("HostClaim"), meta.RESTScopeNamespace)
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
