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

package manager

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CRD is a CustomResourceDefinition that a manager cannot do without.
type CRD struct {
	// Name of the CRD, and the Kind that it serves, in the version that is used.
	Name string
	Kind schema.GroupVersionKind
	// Remedy is how it is installed.
	Remedy string
}

// requireCRDs returns an error that names each CRD that is missing, or does not serve the version that is
// used, and its remedy. A manager ends with it and is started again, instead of waiting for caches that
// never sync.
func requireCRDs(mapper meta.RESTMapper, crds []CRD) error {
	var missing []error
	for _, crd := range crds {
		_, err := mapper.RESTMapping(crd.Kind.GroupKind(), crd.Kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			missing = append(missing, fmt.Errorf("CRD %s does not exist or does not serve %s of version %s: %s",
				crd.Name, crd.Kind.Kind, crd.Kind.Version, crd.Remedy))
		case err != nil:
			return fmt.Errorf("ask the API server which kinds it serves (is the kubeconfig right, and the server up?): %w", err)
		}
	}
	return errors.Join(missing...)
}
