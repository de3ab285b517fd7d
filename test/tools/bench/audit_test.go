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

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const (
	patch    = `{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/x","verb":"patch","user":{"username":"system:serviceaccount:capm3-system:capm3-manager"},"userAgent":"manager/v1 (linux)","objectRef":{"resource":"metal3machines","namespace":"t","name":"m","subresource":"status"},"responseStatus":{"code":200}}`
	conflict = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"system:serviceaccount:capm3-system:capm3-manager"},"userAgent":"manager/v1 (linux)","objectRef":{"resource":"metal3machines","subresource":"status"},"responseStatus":{"code":409,"reason":"Conflict"}}`
	missing  = `{"stage":"ResponseComplete","verb":"get","user":{"username":"system:serviceaccount:capm3-system:capm3-manager"},"userAgent":"manager/v1 (linux)","objectRef":{"resource":"secrets"},"responseStatus":{"code":404}}`
	other    = `{"stage":"ResponseComplete","verb":"create","user":{"username":"other"},"userAgent":"other","objectRef":{"resource":"events"},"responseStatus":{"code":201}}`
	watch    = `{"stage":"ResponseComplete","verb":"watch","user":{"username":"other"},"userAgent":"other","objectRef":{"resource":"secrets"},"responseStatus":{"code":200}}`
	received = `{"stage":"RequestReceived","verb":"get","user":{"username":"other"},"userAgent":"other","objectRef":{"resource":"secrets"}}`
	version  = `{"stage":"ResponseComplete","verb":"get","user":{"username":"other"},"userAgent":"other","requestURI":"/version","responseStatus":{"code":200}}`

	account = "system:serviceaccount:capm3-system:capm3-manager"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	expect.NoError(t, err)
	_, err = file.WriteString(text)
	expect.NoError(t, err)
	expect.NoError(t, file.Close())
}

func TestLog(t *testing.T) {
	status := Request{User: account, Agent: "manager", Verb: "patch", Resource: "metal3machines", Subresource: "status", Code: 200}
	tests := map[string]struct {
		text string
		want Counts
	}{
		"an empty log":                     {"", Counts{}},
		"a request":                        {patch + "\n", Counts{status: 1}},
		"equal requests":                   {patch + "\n" + patch + "\n", Counts{status: 2}},
		"a line that is being written":     {patch + "\n" + patch[:50], Counts{status: 1}},
		"neither watches nor other stages": {watch + "\n" + received + "\n" + version + "\n", Counts{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			write(t, path, tc.text)
			got, err := openLog(path).Next()
			expect.NoError(t, err)
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestLogGoesOnWhereItWasRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log := openLog(path)
	for _, step := range []struct {
		text string
		want int
	}{{patch + "\n" + patch[:10], 1}, {patch[10:] + "\n" + missing + "\n", 2}, {"", 0}} {
		write(t, path, step.text)
		got, err := log.Next()
		expect.NoError(t, err)
		expect.Equal(t, step.want, got.Sum())
	}
	write(t, path, "no JSON\n")
	if _, err := log.Next(); err == nil {
		t.Error("a line that is no event was read")
	}
}

func TestCounts(t *testing.T) {
	all, err := parse(patch + "\n" + patch + "\n" + conflict + "\n" + missing + "\n" + other + "\n")
	expect.NoError(t, err)
	ours := all.Of(account)
	got := map[string]int{
		"all": all.Sum(), "ours": ours.Sum(), "reads": ours.Reads().Sum(),
		"writes": ours.Writes().Sum(), "conflicts": ours.Conflicts().Sum(), "twice": ours.Plus(ours).Sum(),
	}
	want := map[string]int{"all": 5, "ours": 4, "reads": 1, "writes": 3, "conflicts": 1, "twice": 8}
	expect.Equal(t, want, got)
	each := map[string]float64{
		"patch metal3machines/status": 0.5, "patch metal3machines/status (409)": 0.25, "get secrets (404)": 0.25,
	}
	expect.Equal(t, each, ours.Each(4))
}
