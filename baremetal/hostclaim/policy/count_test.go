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

package policy

import (
	"fmt"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCounted(t *testing.T) {
	var all []bmov1alpha1.HostDeployPolicy
	add := func(namespace string, number, age int) {
		for n := range number {
			all = append(all, bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("policy-%d-%03d", age, n),
				CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0)),
			}})
		}
	}
	add("crowded", MaxPerNamespace, 1)
	add("modest", 3, 2)
	if counted := Counted(all); len(counted) != len(all) {
		t.Errorf("%d of %d count, although no namespace has too many", len(counted), len(all))
	}
	add("crowded", 5, 5)
	number := map[string]int{}
	for _, p := range Counted(all) {
		number[p.Namespace]++
		if p.Namespace == "crowded" && p.Name > "policy-1-094" && p.Name < "policy-5" {
			t.Errorf("%s counts, although %d are older", p.Name, MaxPerNamespace)
		}
	}
	if number["crowded"] != MaxPerNamespace || number["modest"] != 3 {
		t.Errorf("these count: %v", number)
	}
	if all[0].Name != "policy-1-000" {
		t.Error("the order of what was given has changed")
	}
}
