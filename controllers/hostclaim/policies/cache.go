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

package policies

import (
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
)

// Cache compiles each version of a policy once. Every pass of every claim evaluates all
// policies, and to compile one costs a hundred times as much as to evaluate it. The zero
// value is ready, and safe for concurrent use.
type Cache struct {
	mu       sync.Mutex
	compiled map[version]*policy.Compiled
}

// version names one version of one policy.
type version struct {
	uid             types.UID
	resourceVersion string
}

func versionOf(p *bmov1alpha1.HostDeployPolicy) version {
	return version{uid: p.UID, resourceVersion: p.ResourceVersion}
}

// Compile returns one policy compiled.
func (c *Cache) Compile(p *bmov1alpha1.HostDeployPolicy) *policy.Compiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compile(p)
}

// CompileAll returns all policies compiled, and forgets those that are not among them.
func (c *Cache) CompileAll(all []bmov1alpha1.HostDeployPolicy) []*policy.Compiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*policy.Compiled, 0, len(all))
	current := make(map[version]*policy.Compiled, len(all))
	for i := range all {
		one := c.compile(&all[i])
		current[versionOf(&all[i])] = one
		out = append(out, one)
	}
	c.compiled = current
	return out
}

// compile needs the lock. It holds it while it compiles, which the bounds of an
// expression keep short.
func (c *Cache) compile(p *bmov1alpha1.HostDeployPolicy) *policy.Compiled {
	if known, found := c.compiled[versionOf(p)]; found {
		return known
	}
	if c.compiled == nil {
		c.compiled = map[version]*policy.Compiled{}
	}
	compiled := policy.Compile(p.DeepCopy())
	c.compiled[versionOf(p)] = compiled
	return compiled
}
