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

package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Variables are values for the ${NAME} of a template. A name that is missing
// here takes the default that the template gives.
type Variables map[string]string

// Render builds the kustomization in dir and fills its variables.
func Render(dir string, variables Variables) ([]*unstructured.Unstructured, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	objects, err := Process(text, variables)
	if err != nil {
		return nil, fmt.Errorf("process %s: %w", dir, err)
	}
	return objects, nil
}

// Process fills the variables of a template as clusterctl does and decodes it.
// A variable with neither value nor default is an error that names it.
func Process(template []byte, variables Variables) ([]*unstructured.Unstructured, error) {
	text, err := yamlprocessor.NewSimpleProcessor().Process(template, func(name string) (string, error) {
		value, found := variables[name]
		if !found {
			return "", fmt.Errorf("no value for %s", name)
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	return decode(text)
}

func decode(text []byte) ([]*unstructured.Unstructured, error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		object := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.Unmarshal(document, &object.Object)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
