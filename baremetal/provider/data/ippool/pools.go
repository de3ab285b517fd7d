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

import "fmt"

// The kind of pool that a template means when it says nothing else.
const (
	// Metal3Group is the API group of ip-address-manager.
	Metal3Group = "ipam.metal3.io"
	// Metal3Kind is its kind of pool.
	Metal3Kind = "IPPool"
)

// Pool identifies an address pool of the machine's namespace.
type Pool struct {
	Name     string
	APIGroup string
	Kind     string
}

// Metal3 says that the pool is asked by an IPClaim of ip-address-manager. All
// others are asked by an IPAddressClaim of Cluster API's IPAM contract.
func (p Pool) Metal3() bool {
	return p.APIGroup == Metal3Group && p.Kind == Metal3Kind
}

func (p Pool) String() string {
	return fmt.Sprintf("%s.%s %q", p.Kind, p.APIGroup, p.Name)
}

// NewPool returns the pool with the defaults of the API filled in.
func NewPool(name, apiGroup, kind string) Pool {
	if apiGroup == "" {
		apiGroup = Metal3Group
	}
	if kind == "" {
		kind = Metal3Kind
	}
	return Pool{Name: name, APIGroup: apiGroup, Kind: kind}
}

// ConflictError says that a template means two different pools by one name,
// although answers are told apart by name only.
type ConflictError struct {
	One, Other Pool
}

func (e ConflictError) Error() string {
	return fmt.Sprintf("two pools of one name, %s and %s: give one of them another name, "+
		"and name it in a new Metal3DataTemplate", e.One, e.Other)
}

// ClaimNameError says that two addresses would be claimed by claims of one name.
type ClaimNameError struct {
	One, Other Ask
}

func (e ClaimNameError) Error() string {
	return fmt.Sprintf("%s and %s would be asked by claims of one name: give the network another id in a new Metal3DataTemplate",
		e.One, e.Other)
}
