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

// Package templatecheck finds mistakes of a Metal3DataTemplate that do not depend on the
// machine and that its schema and CEL rules cannot see.
//
// Schema and CEL look at one field, or at one item of a list. These are the rules
// between items: links that others rest on, ids and names that must be unique,
// pools of one name. The input is the spec alone. The webhook of the provider
// manager refuses by these rules, the preview (hack/render) repeats them, and no
// network data is rendered of links that break them. Neither hosts nor pools are
// asked.
package templatecheck

import (
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// Problems lists why a template could be rendered for no machine; path is where
// its spec is. Each names field, value and remedy. The first 20 are enough.
func Problems(spec infrav1.Metal3DataTemplateSpec, path *field.Path) field.ErrorList {
	found := []iter.Seq[*field.Error]{pools(spec, path), addresses(spec, path)}
	if spec.NetworkData != nil {
		at := path.Child("networkData")
		found = append(append(found, linkRules(spec.NetworkData, at)...), networks(spec.NetworkData.Networks, at.Child("networks")))
	}
	return text.Problems(found...)
}

// LinkProblems lists those of Problems that keep an operating system from setting up the links and
// the networks on them. A template that was made before its webhook may have some.
func LinkProblems(spec *infrav1.NetworkData, path *field.Path) field.ErrorList {
	return text.Problems(linkRules(spec, path)...)
}

// networks finds networks of one id.
func networks(spec *infrav1.NetworkDataNetwork, path *field.Path) iter.Seq[*field.Error] {
	var ids []value
	for _, n := range ippool.Networks(spec) {
		ids = append(ids, value{n.ID, path.Child(n.List).Index(n.Index).Child("id")})
	}
	return once(ids, "another network has this id: give each network one of its own")
}

// pools finds pools of one name and two kinds, and addresses whose claims would
// have one name.
func pools(spec infrav1.Metal3DataTemplateSpec, path *field.Path) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		for _, err := range ippool.Contradictions(spec) {
			if problem := poolProblem(err, path); problem != nil && !yield(problem) {
				return
			}
		}
	}
}

// maxAddresses is how many addresses of pools one template may ask for; a server has a handful.
const maxAddresses = 128

// addresses finds a template that asks for too many. Pools that annotations name do not count.
func addresses(spec infrav1.Metal3DataTemplateSpec, path *field.Path) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		// Errors of the pools are reported separately, and annotations are those of a machine.
		if asks, _ := ippool.Asks(spec, metadata.Facts{}); len(asks) > maxAddresses {
			yield(field.Invalid(path, len(asks), fmt.Sprintf("pools are asked for %d addresses of each machine, and at most for %d: "+
				"leave some out, or use fewer networks with addresses of pools", len(asks), maxAddresses)))
		}
	}
}

// poolProblem returns the error of pools as one of a field, for the author of a new template.
func poolProblem(err error, path *field.Path) *field.Error {
	var conflict ippool.ConflictError
	var names ippool.ClaimNameError
	switch {
	case errors.As(err, &conflict):
		return field.Invalid(path, conflict.One.Name, fmt.Sprintf(
			"the name stands for two pools, %s and %s: give one of them another name", conflict.One, conflict.Other))
	case errors.As(err, &names):
		return field.Invalid(path, names.Other.Name, fmt.Sprintf(
			"%s and %s would be asked by claims of one name: give the network another id", names.One, names.Other))
	default:
		return nil
	}
}

// value is what a template has at a path.
type value struct {
	text string
	path *field.Path
}

// once finds values that are given more than once. Empty ones do not count.
func once(values []value, detail string) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		seen := map[string]bool{}
		for _, v := range values {
			if seen[v.text] {
				e := field.Duplicate(v.path, v.text)
				e.Detail = detail
				if !yield(e) {
					return
				}
			}
			seen[v.text] = v.text != ""
		}
	}
}
