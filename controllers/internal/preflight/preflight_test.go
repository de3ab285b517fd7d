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
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

var version = schema.GroupVersion{Group: "metal3.io", Version: "v1alpha1"}

func need(kind string) Need {
	return Need{Kind: version.WithKind(kind), CRD: strings.ToLower(kind) + "s.metal3.io", Remedy: "install it"}
}

// unreachable is a mapper whose API server does not answer.
type unreachable struct{ meta.RESTMapper }

func (unreachable) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("connection refused")
}

func TestRequireKinds(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(version.WithKind("HostClaim"), meta.RESTScopeNamespace)
	tests := map[string]struct {
		mapper meta.RESTMapper
		needs  []Need
		want   []string
	}{
		"passes when nothing is needed":         {mapper: mapper},
		"passes when the kind exists":           {mapper: mapper, needs: []Need{need("HostClaim")}},
		"names each missing CRD and the remedy": {mapper: mapper, needs: []Need{need("HostClaim"), need("Foo"), need("Bar")}, want: []string{"foos.metal3.io", "bars.metal3.io", "install it"}},
		"tells a server that does not answer":   {mapper: unreachable{}, needs: []Need{need("Foo")}, want: []string{"kubeconfig", "connection refused"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := RequireKinds(tt.mapper, tt.needs...)
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

// growing is a mapper of a cluster in which a kind is installed after some looks.
type growing struct {
	meta.RESTMapper
	looks int
}

func (g *growing) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if g.looks--; g.looks >= 0 {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return g.RESTMapper.RESTMapping(gk, versions...)
}

func TestAwait(t *testing.T) {
	known := meta.NewDefaultRESTMapper(nil)
	known.Add(version.WithKind("HostClaim"), meta.RESTScopeNamespace)

	t.Run("returns as soon as the kind has been installed", func(t *testing.T) {
		clk := clocktesting.NewFakeClock(time.Now())
		ended := make(chan error, 1)
		go func() {
			ended <- await(t.Context(), &growing{RESTMapper: known, looks: 2}, clk, []Need{need("HostClaim")})
		}()
		for {
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
				return
			default:
				clk.Step(recheck)
			}
		}
	})
	t.Run("says what is missing when it is told to end", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := await(ctx, known, clocktesting.NewFakeClock(time.Now()), []Need{need("Foo")})
		var missing *MissingError
		if !errors.As(err, &missing) || missing.Need.CRD != "foos.metal3.io" {
			t.Errorf("error %v, want one that names the CRD of Foo", err)
		}
	})
}
