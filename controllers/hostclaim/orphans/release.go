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

package orphans

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/copies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// release gives an orphan back as a claim would:
//
//	clear (one patch) ─▶ wait for the host ─▶ delete copies ─▶ remove consumerRef
//
// The last write carries the version of the live read that showed the host at
// rest. The claim cannot come back between: its UID is gone for ever.
func (r *Reconciler) release(ctx context.Context, host *bmov1alpha1.BareMetalHost) progress.Outcome {
	if cleared := binding.Cleared(host); !equality.Semantic.DeepEqual(cleared, host) {
		if out := r.write(ctx, "Cleared the orphaned host, which is deprovisioned now", host, cleared); !out.Done() {
			return out
		}
		host = cleared
	}
	if wait, ok := binding.Releasable(host); !ok {
		return r.waitForHost(host, wait)
	}
	live := &bmov1alpha1.BareMetalHost{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(host), live); err != nil {
		return progress.Failed(client.IgnoreNotFound(err))
	}
	wait, releasable := binding.Releasable(live)
	switch {
	case binding.ConsumerKey(live) != binding.ConsumerKey(host), !equality.Semantic.DeepEqual(binding.Cleared(live), live):
		return progress.Failed(fmt.Errorf("free the orphan: %w", progress.ErrStale))
	case !releasable:
		return r.waitForHost(live, wait)
	}
	return r.free(ctx, live)
}

// free removes what was copied next to a host at rest, then the name of the claim.
func (r *Reconciler) free(ctx context.Context, host *bmov1alpha1.BareMetalHost) progress.Outcome {
	sweeper, ref := copies.Sweeper{Live: r.Live, Writer: r.Client}, host.Spec.ConsumerRef
	if ref.Namespace != host.Namespace {
		r.Secrets.Ensure(host.Namespace) // what comes after the lists is seen by the watch
	}
	err := sweeper.OfClaim(ctx, ref.UID, host.Namespace)
	if err == nil {
		err = sweeper.NextTo(ctx, host)
	}
	switch {
	case apierrors.IsForbidden(err) && ref.Namespace == host.Namespace:
		// Nothing was copied, and such an install needs no rights on secrets.
	case apierrors.IsForbidden(err):
		return r.waitForHost(host, binding.Wait{Reason: infrav1.SecretsForbiddenReason, Message: "The hostclaim manager may not delete " +
			"secrets of this namespace; create a RoleBinding here of ClusterRole hostclaim-host-secrets to its service account"})
	case err != nil:
		return progress.Failed(err)
	}
	freed := binding.Freed(host)
	if out := r.write(ctx, "Released the orphaned host", host, freed); !out.Done() {
		return out
	}
	r.forget(client.ObjectKeyFromObject(host))
	r.Recorder.Eventf(freed, nil, corev1.EventTypeNormal, "Freed", "Release",
		"The host was wiped and given back; HostClaim %s of namespace %s, which had it, does not exist any more", ref.Name, ref.Namespace)
	return progress.Outcome{}
}

// waitForHost tells what a person must mend before an orphan can be freed; the
// host itself, or the watch on rights, wakes it.
func (r *Reconciler) waitForHost(host *bmov1alpha1.BareMetalHost, wait binding.Wait) progress.Outcome {
	if wait.Reason != binding.HostDeprovisioningReason && wait.Reason != binding.HostPoweringOffReason {
		r.note(host, orphan.Plan{Step: orphan.Release, Reason: wait.Reason, Message: wait.Message})
	}
	return progress.Waiting(wait.Reason, wait.Message)
}
