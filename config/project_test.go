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
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// project is what PROJECT says of kinds.
type project struct {
	Resources []struct {
		Domain, Group, Kind, Plural, Version string
		External                             bool
		Webhooks                             struct{ Validation bool }
	}
}

// TestProject holds the kinds of PROJECT to the CRDs, and their webhooks to config/webhook.
func TestProject(t *testing.T) {
	var described project
	readYAML(t, "../PROJECT", &described)
	var kinds, withWebhook []string
	for _, r := range described.Resources {
		if r.External {
			continue
		}
		if r.Plural == "" {
			r.Plural = strings.ToLower(r.Kind) + "s"
		}
		kinds = append(kinds, r.Group+"."+r.Domain+"/"+r.Version+" "+r.Kind+" "+r.Plural)
		if r.Webhooks.Validation {
			withWebhook = append(withWebhook, r.Plural)
		}
	}
	var defined []string
	for _, path := range manifestsOf(t, "crd/bases", "hostclaim/crd/bases") {
		var crd apiextensionsv1.CustomResourceDefinition
		readYAML(t, path, &crd)
		for _, version := range crd.Spec.Versions {
			defined = append(defined, crd.Spec.Group+"/"+version.Name+" "+crd.Spec.Names.Kind+" "+crd.Spec.Names.Plural)
		}
	}
	slices.Sort(kinds)
	slices.Sort(defined)
	slices.Sort(withWebhook)
	expect.Equal(t, defined, kinds)            // kinds
	expect.Equal(t, validated(t), withWebhook) // kinds with a validating webhook in config/webhook, and in PROJECT
}

func manifestsOf(t *testing.T, folders ...string) (paths []string) {
	t.Helper()
	for _, folder := range folders {
		files, err := CRDs.ReadDir(folder)
		expect.NoError(t, err)
		for _, file := range files {
			paths = append(paths, folder+"/"+file.Name())
		}
	}
	return paths
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	expect.Must(t, err == nil, "%s: %v", path, err)
}
