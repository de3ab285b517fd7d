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

package claim

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
)

// pair are a secret of a claim and its copy next to a host. A secret without a name is none, and a
// version without a text is of a secret that does not exist.
type pair struct {
	source, copied               types.NamespacedName
	host                         types.UID
	sourceVersion, copiedVersion string
}

// comparison is what was found of a pair.
type comparison struct {
	pair

	differs bool
}

// comparisons remembers in which versions the secrets of a claim were last compared with their
// copies, so that secrets are read when one has changed and not in every pass. The zero
// value remembers nothing.
type comparisons struct {
	mu   sync.Mutex
	last map[types.NamespacedName]map[binding.SecretKind]comparison
}

func (c *comparisons) note(claim types.NamespacedName, kind binding.SecretKind, found comparison) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[types.NamespacedName]map[binding.SecretKind]comparison{}
	}
	if c.last[claim] == nil {
		c.last[claim] = map[binding.SecretKind]comparison{}
	}
	c.last[claim][kind] = found
}

func (c *comparisons) of(claim types.NamespacedName, kind binding.SecretKind) comparison {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[claim][kind]
}

// forget drops what is known of a claim that is gone.
func (c *comparisons) forget(claim types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, claim)
}

// shown is the pair of one kind as the watches of its namespaces show it; false if
// one of them shows nothing at this moment.
func (r *synchronizer) shown(s *scope, kind binding.SecretKind) (pair, bool) {
	p := pair{
		host:   s.host.UID,
		copied: types.NamespacedName{Namespace: s.host.Namespace, Name: binding.CopyName(s.claim.UID, kind)},
	}
	known := true
	if name := binding.SecretName(s.claim, kind); name != "" {
		p.source = types.NamespacedName{Namespace: s.claim.Namespace, Name: name}
		p.sourceVersion, known = r.secrets.Version(p.source)
	}
	if known {
		p.copiedVersion, known = r.secrets.Version(p.copied)
	}
	return p, known
}

// inStep says that the copy of a secret still is what was last written, without reading either.
func (r *synchronizer) inStep(s *scope, kind binding.SecretKind) bool {
	p, known := r.shown(s, kind)
	last := r.comparisons.of(keyOf(s.claim), kind)
	return known && p.copiedVersion != "" && last == comparison{pair: p}
}

// rotated says that a secret differs from its copy, which stays as the server
// got it.
func (r *synchronizer) rotated(ctx context.Context, s *scope) bool {
	r.secrets.Ensure(s.claim.Namespace)
	r.secrets.Ensure(s.host.Namespace)
	rotated := false
	for _, kind := range binding.SecretKinds {
		differs, err := r.differs(ctx, s, kind)
		if err != nil {
			// Nothing waits for the answer; the next pass reads again.
			return false
		}
		rotated = rotated || differs
	}
	return rotated
}

// differs compares one secret with its copy. One of them that is gone, or that
// cannot be used any more, is no difference: the server does not need it.
func (r *synchronizer) differs(ctx context.Context, s *scope, kind binding.SecretKind) (bool, error) {
	if binding.SecretName(s.claim, kind) == "" {
		return false, nil
	}
	p, known := r.shown(s, kind)
	switch last := r.comparisons.of(keyOf(s.claim), kind); {
	case known && (p.sourceVersion == "" || p.copiedVersion == ""):
		return false, nil
	case known && last.pair == p:
		return last.differs, nil
	}
	source, copied := &corev1.Secret{}, &corev1.Secret{}
	if err := r.live.Get(ctx, p.source, source); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if err := r.live.Get(ctx, p.copied, copied); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	content, err := binding.Extract(kind, source)
	differs := err == nil && !equality.Semantic.DeepEqual(content.Data, copied.Data)
	p.sourceVersion, p.copiedVersion = source.ResourceVersion, copied.ResourceVersion
	r.comparisons.note(keyOf(s.claim), kind, comparison{p, differs})
	return differs, nil
}
