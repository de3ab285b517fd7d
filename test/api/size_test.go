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

package api_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// The API server cannot delete an object that fills a request to etcd, so a machine that has a
// server does not grow so large, by its metadata alone or with its spec. test/tenant grows claims to
// the last byte.
func TestAttackMachineGrownUntilNobodyCanDeleteIt(t *testing.T) {
	labels := func(n int) map[string]string {
		all := make(map[string]string, n)
		for i := range n {
			all[fmt.Sprint("l", i)] = strings.Repeat("v", 63)
		}
		return all
	}
	machine := func(name string, labels map[string]string) *infrav1.Metal3Machine {
		return &infrav1.Metal3Machine{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: server.Namespace(t, "large", nil), Name: name, Labels: labels, Finalizers: []string{"example.com/f"},
			},
			Spec: infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "m"}},
		}
	}
	says := []string{"bytes as JSON, and at most 524288 are allowed", "shorten its labels"}
	checkAnswer(t, server.Client.Create(t.Context(), machine("new", labels(8000))), says)

	m := machine("old", nil)
	if err := server.Client.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	grow := func(n int, also ...func(*infrav1.Metal3Machine)) error {
		grown := m.DeepCopy()
		grown.Labels = labels(n)
		for _, change := range also {
			change(grown)
		}
		return server.Client.Patch(t.Context(), grown, client.MergeFrom(m))
	}
	checkAnswer(t, grow(8000), says)
	checkAnswer(t, grow(8000, func(m *infrav1.Metal3Machine) { m.Spec.CustomDeploy.Method = "n" }), says)
	checkAnswer(t, grow(100), nil)
	checkAnswer(t, server.Client.Delete(t.Context(), m), nil)
	checkAnswer(t, grow(8000), says) // it may not come so far while it is being deleted, either
	checkAnswer(t, grow(0, func(m *infrav1.Metal3Machine) { m.Finalizers = nil }), nil)
}
