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

package config

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// A manager that takes too much memory must not take that of its node.
func TestManagersHaveAMemoryLimit(t *testing.T) {
	for _, path := range []string{"manager/manager.yaml", "hostclaim/manager/manager.yaml"} {
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		deployment := appsv1.Deployment{}
		if err := yaml.UnmarshalStrict(text, &deployment); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		container := deployment.Spec.Template.Spec.Containers[0]
		limit := container.Resources.Limits.Memory()
		expect.That(t, !limit.IsZero(), "%s has no memory limit", path)
		for _, env := range container.Env {
			// Go writes MiB where Kubernetes writes Mi.
			if soft := resource.MustParse(env.Value[:len(env.Value)-1]); env.Name == "GOMEMLIMIT" && soft.Cmp(*limit) < 0 {
				limit = nil
			}
		}
		expect.That(t, limit == nil, "%s lacks a GOMEMLIMIT below its memory limit", path)
	}
}
