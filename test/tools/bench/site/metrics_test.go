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

package site

import (
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestRequestName(t *testing.T) {
	tests := map[string]struct {
		labels map[string]string
		want   string
	}{
		"names verb and resource":       {map[string]string{"verb": "GET", "resource": "secrets", "code": "200"}, "GET secrets"},
		"names the subresource":         {map[string]string{"verb": "PATCH", "resource": "hostclaims", "subresource": "status", "code": "200"}, "PATCH hostclaims/status"},
		"tells failures apart":          {map[string]string{"verb": "PATCH", "resource": "hostclaims", "code": "409"}, "PATCH hostclaims (409)"},
		"leaves watches out":            {map[string]string{"verb": "WATCH", "resource": "hostclaims", "code": "200"}, ""},
		"leaves out what others do":     {map[string]string{"verb": "GET", "resource": "leases", "code": "200"}, ""},
		"leaves out what has no object": {map[string]string{"verb": "GET", "code": "200"}, ""},
	}
	site := &Site{counted: set([]string{"secrets", "hostclaims"})}
	for name, tc := range tests {
		m := &dto.Metric{}
		for name, value := range tc.labels {
			m.Label = append(m.Label, &dto.LabelPair{Name: &name, Value: &value})
		}
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, site.requestName(m)) })
	}
}
