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
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestPagesAreCurrent shows that the pages of docs/reference match the code.
func TestPagesAreCurrent(t *testing.T) {
	pages, err := render("../..")
	expect.NoError(t, err)
	for name, want := range pages {
		got, err := os.ReadFile("../../docs/reference/" + name)
		expect.NoError(t, err)
		t.Run(name, func(t *testing.T) { expect.Equal(t, want, string(got)) })
	}
}
