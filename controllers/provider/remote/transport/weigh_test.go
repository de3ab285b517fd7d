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

package transport

import (
	"net/http"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestWeigh(t *testing.T) {
	const item, object, comma = itemWeight, objectWeight, commaWeight
	for name, tt := range map[string]struct {
		text  string
		extra int64 // beyond the bytes
	}{
		"an empty object":                          {`{}`, object},
		"an item of a list is heavy":               {`{"items":[{}]}`, object + comma + item},
		"each of them":                             {`{"items":[{},{}]}`, object + 2*comma + 2*item},
		"null is one, too":                         {`{"items":[null]}`, object + comma + item},
		"what is in an item is light":              {`{"items":[{"a":{}}]}`, 2*object + comma + item},
		"a list in an item is as well":             {`{"items":[{"a":[{},null]}]}`, 3*object + 3*comma + item},
		"an array of an object in it is no list":   {`{"a":{"b":[{}]}}`, 3*object + comma},
		"what follows a list is light again":       {`{"items":[],"a":{"b":{}}}`, 3*object + 2*comma},
		"text weighs nothing more":                 {`{"a":"n{[,,"}`, object},
		"quotes in text do not end it":             {`{"a":"\"n{\\"}`, object},
		"numbers and truth weigh what they are":    {`{"a":[1,true]}`, object + 2*comma},
		"empty text weighs more than it is":        {`{"a":["",""]}`, object + 2*comma},
		"objects one after another, as in a watch": {`{"a":[]}{"a":[{}]}`, 2*object + 2*comma + item},
	} {
		t.Run(name, func(t *testing.T) {
			var whole, split scale
			want := int64(len(tt.text)) + tt.extra
			expect.Equal(t, want, whole.weigh([]byte(tt.text)))
			var sum int64
			for _, b := range []byte(tt.text) {
				sum += split.weigh([]byte{b})
			}
			expect.Equal(t, want, sum)
		})
	}
}

func TestAnswersAreWeighed(t *testing.T) {
	list := func(item string, n int) string {
		return `{"items":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}`
	}
	for name, tt := range map[string]struct {
		text  string
		code  int
		kind  string
		look  bool
		fails bool
	}{
		"many full objects":                   {text: list(`{"a":"`+strings.Repeat("x", 10<<10)+`"}`, 1000)},
		"more empty ones than fit":            {text: list(`{}`, 100_000), fails: true},
		"more nulls than fit":                 {text: list(`null`, 100_000), fails: true},
		"a large refusal":                     {text: list(`0`, 10_000), code: http.StatusNotFound, fails: true},
		"a refusal with a reason":             {text: list(`0`, 100), code: http.StatusNotFound},
		"much in another encoding":            {text: strings.Repeat("\n\x00", 10_000), kind: "application/vnd.kubernetes.protobuf", fails: true},
		"a look at what is large":             {text: `{"a":"` + strings.Repeat("x", maxCheck) + `"}`, look: true, fails: true},
		"what is too large for a look, asked": {text: `{"a":"` + strings.Repeat("x", maxCheck) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, Limits{Answer: 32 << 20}, func(out http.ResponseWriter, r *http.Request) {
				expect.Equal(t, jsonType, r.Header.Get("Accept"))
				if tt.kind == "" {
					tt.kind = jsonType
				}
				out.Header().Set("Content-Type", tt.kind)
				out.WriteHeader(max(tt.code, http.StatusOK))
				_, _ = out.Write([]byte(tt.text))
			})
			client := w.ForUsers()
			if tt.look {
				client = w.ForChecks()
			}
			text, err := get(t.Context(), client, w.server)
			expect.That(t, (err != nil) == tt.fails && (tt.fails || text == tt.text), "%d bytes of %d, %v", len(text), len(tt.text), err)
		})
	}
}

func TestOnlyJSONIsAskedFor(t *testing.T) {
	const partial = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	for accept, want := range map[string]string{
		"":                         jsonType,
		"application/json, */*":    jsonType,
		"application/cbor":         jsonType,
		jsonType + ";stream=watch": jsonType + ";stream=watch",
		"application/vnd.kubernetes.protobuf" + partial + "," + jsonType + partial: jsonType + partial,
	} {
		got := onlyJSON(accept)
		expect.That(t, got == want, "%q becomes %q", accept, got)
	}
}
