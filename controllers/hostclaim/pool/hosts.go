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

package pool

import (
	"cmp"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/selection"
)

// shelf holds the hosts of one namespace. Of those that are not free, only why is
// known: there are thousands of them, and nobody asks for more.
type shelf struct {
	sorted []*entry // the free ones, by name
	free   map[string]*entry
	unfree map[string]selection.Misfit
}

// entry is a free host, and the claims that had their turn and did not take it.
// They look again when they are tried again, and are not woken for it before it
// changes: a claim that fails must not hold up, or drive, anybody.
type entry struct {
	host     *bmov1alpha1.BareMetalHost
	declined map[types.UID]bool
}

func newShelf() *shelf {
	return &shelf{free: map[string]*entry{}, unfree: map[string]selection.Misfit{}}
}

// put takes in a free host that nobody has declined.
func (s *shelf) put(host *bmov1alpha1.BareMetalHost) {
	s.remove(host.Name)
	at, _ := s.find(host.Name)
	e := &entry{host: host, declined: map[types.UID]bool{}}
	s.sorted = slices.Insert(s.sorted, at, e)
	s.free[host.Name] = e
}

// set notes why a host is not free.
func (s *shelf) set(name string, misfit selection.Misfit) {
	s.remove(name)
	s.unfree[name] = misfit
}

func (s *shelf) remove(name string) {
	delete(s.unfree, name)
	if at, found := s.find(name); found {
		s.sorted = slices.Delete(s.sorted, at, at+1)
		delete(s.free, name)
	}
}

func (s *shelf) has(name string) bool {
	return s.free[name] != nil || s.unfree[name] != ""
}

func (s *shelf) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(s.sorted, name, func(e *entry, name string) int { return cmp.Compare(e.host.Name, name) })
}

// count adds the hosts to a crowd.
func (s *shelf) count(crowd *selection.Crowd) {
	for _, misfit := range s.unfree {
		crowd.Unfree[misfit]++
	}
	for _, e := range s.sorted {
		crowd.Free = append(crowd.Free, e.host)
	}
}
