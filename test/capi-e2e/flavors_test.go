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

package capie2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// placeholder is a line of a template in whose place clusterctl puts lines of its user. kustomize does not read it.
var placeholder = regexp.MustCompile(`(?m)^.*goes here}\n`)

// addFlavors adds the templates that the specs ask for by name to the files of the provider: a kustomization
// in data each, on top of the templates of the release.
func addFlavors(provider *clusterctl.ProviderConfig) {
	folder := filepath.Join(*artifactFolder, "flavors")
	gomega.Expect(os.RemoveAll(folder)).To(gomega.Succeed())
	gomega.Expect(os.CopyFS(folder, os.DirFS("data"))).To(gomega.Succeed())
	flavors, err := os.ReadDir(folder)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, file := range provider.Files {
		if strings.HasPrefix(file.TargetName, "cluster-template") {
			template, err := os.ReadFile(file.SourcePath)
			gomega.Expect(err).NotTo(gomega.HaveOccurred())
			gomega.Expect(os.WriteFile(filepath.Join(folder, file.TargetName), placeholder.ReplaceAll(template, nil), 0o600)).To(gomega.Succeed())
		}
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	for _, flavor := range flavors {
		built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(folder, flavor.Name()))
		gomega.Expect(err).NotTo(gomega.HaveOccurred(), flavor.Name())
		text, err := built.AsYaml()
		gomega.Expect(err).NotTo(gomega.HaveOccurred(), flavor.Name())
		file := clusterctl.Files{TargetName: "cluster-template-" + flavor.Name() + ".yaml"}
		file.SourcePath = filepath.Join(folder, file.TargetName)
		gomega.Expect(os.WriteFile(file.SourcePath, text, 0o600)).To(gomega.Succeed())
		provider.Files = append(provider.Files, file)
	}
}
