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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
)

// rotations remembers whether secrets of running claims differ from their copies,
// so that secrets are read when one has changed and not in every pass. Secrets
// are watched before they are read, and the watch makes the answer be forgotten
// before it wakes the claim. The zero value remembers nothing.
type rotations struct {
	mu      sync.Mutex
	answers map[types.NamespacedName]rotation
	// forgotten counts, so that an answer that was read before and noted after an
	// event is not kept.
	forgotten int
}

// rotation is an answer, and the claim with the references that it is about.
type rotation struct {
	claim      types.UID
	generation int64
	rotated    bool
}

// answer returns what is known of a claim, and what note needs to know.
func (a *rotations) answer(claim *bmov1alpha1.HostClaim) (rotated, known bool, asked int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.answers[keyOf(claim)]
	return found.rotated, ok && found.claim == claim.UID && found.generation == claim.Generation, a.forgotten
}

// note keeps an answer unless something was forgotten since it was asked for.
func (a *rotations) note(claim *bmov1alpha1.HostClaim, rotated bool, asked int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if asked != a.forgotten {
		return
	}
	if a.answers == nil {
		a.answers = map[types.NamespacedName]rotation{}
	}
	a.answers[keyOf(claim)] = rotation{claim: claim.UID, generation: claim.Generation, rotated: rotated}
}

// forget drops the answer about a claim: a secret of it has changed, or it has
// gone.
func (a *rotations) forget(claim types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.answers, claim)
	a.forgotten++
}

// rotated says that a secret differs from its copy, which stays as the server
// got it.
func (r *synchronizer) rotated(ctx context.Context, s *scope) bool {
	answer, known, asked := r.rotations.answer(s.claim)
	if known {
		return answer
	}
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
	r.rotations.note(s.claim, rotated, asked)
	return rotated
}

// differs compares one secret with its copy. One of them that is gone, or that
// cannot be used any more, is no difference: the server does not need it.
func (r *synchronizer) differs(ctx context.Context, s *scope, kind binding.SecretKind) (bool, error) {
	name := binding.SecretName(s.claim, kind)
	if name == "" {
		return false, nil
	}
	source, copied := &corev1.Secret{}, &corev1.Secret{}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: s.claim.Namespace, Name: name}, source); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	key := client.ObjectKey{Namespace: s.host.Namespace, Name: binding.CopyName(s.claim.UID, kind)}
	if err := r.live.Get(ctx, key, copied); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	content, err := binding.Extract(kind, source)
	return err == nil && !equality.Semantic.DeepEqual(content.Data, copied.Data), nil
}
