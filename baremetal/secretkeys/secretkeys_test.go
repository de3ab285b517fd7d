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

package secretkeys

import (
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestValue(t *testing.T) {
	for name, tt := range map[string]struct {
		key   string
		data  map[string]string
		want  string
		found bool
	}{
		"the key of the purpose":                          {UserData, map[string]string{"userData": "u"}, "u", true},
		"the key of bootstrap providers":                  {UserData, map[string]string{"value": "v", "format": "cloud-config"}, "v", true},
		"the key of the purpose wins":                     {UserData, map[string]string{"userData": "u", "value": "v"}, "u", true},
		"an empty value is a value":                       {UserData, map[string]string{"userData": "", "value": "v"}, "", true},
		"the key of another purpose is none":              {MetaData, map[string]string{"userData": "u"}, "", false},
		"metadata is not optional":                        {MetaData, nil, "", false},
		"user data is not optional":                       {UserData, map[string]string{"token": "t"}, "", false},
		"network data of its key":                         {NetworkData, map[string]string{"networkData": "n", "value": "v"}, "n", true},
		"network data under the key of bootstrap secrets": {NetworkData, map[string]string{"value": "v"}, "v", true},
		"network data without its key is empty":           {NetworkData, map[string]string{"token": "t"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range tt.data {
				data[key] = []byte(value)
			}
			got, found := Value(tt.key, data)
			expect.That(t, string(got) == tt.want && found == tt.found, "value %q, found %v, want %q, %v", got, found, tt.want, tt.found)
			expect.That(t, !found || got != nil, "an empty value is nil: it would not be written")
		})
	}
}
