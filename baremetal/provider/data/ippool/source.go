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

package ippool

import (
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
)

// Source is how a network or a gateway of a template names a pool. The first
// one that is set counts: annotation, reference, name.
type Source struct {
	Annotation *infrav1.FromPoolAnnotation
	Ref        *infrav1.IPPoolReference
	Name       string
}

// Pool returns the pool that is meant. A source that names none gives a pool
// without a name.
func (s Source) Pool(f facts.Facts) (Pool, error) {
	switch {
	case s.Annotation != nil:
		name, err := f.Annotation(s.Annotation.Object, s.Annotation.Annotation)
		if err != nil {
			return Pool{}, err
		}
		return NewPool(name, "", ""), nil
	case s.Ref != nil && s.Ref.Name != "":
		return NewPool(s.Ref.Name, s.Ref.APIGroup, s.Ref.Kind), nil
	default:
		return NewPool(s.Name, "", ""), nil
	}
}
