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
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// scope is what is observed in one pass.
type scope struct {
	// claim is the claim as last read or written.
	claim *bmov1alpha1.HostClaim

	// otherController is the field manager that works on the claim beside us;
	// empty when we are alone.
	otherController string

	// decision is what policies say, from the cache.
	decision policy.Decision

	// host is the host that names the claim, as last read or written; nil while no
	// host does.
	host *bmov1alpha1.BareMetalHost

	// moved are the hosts that seem to have been moved with the claim, from the
	// cache; empty for a claim with a host.
	moved []bmov1alpha1.BareMetalHost
}

// results is what the parts of a pass came to, for the parts behind them and for
// the status.
type results struct {
	// at is how the claim stands with its host, and bindWait why it has none.
	at       standing
	bindWait progress.Wait

	// moving says that the host carries what a move put there, or has no status yet, so
	// that nothing else is written to it.
	moving bool

	// syncWait is why host and claim are not in step, and notes are what the owner
	// should know although they are.
	syncWait progress.Wait
	notes    []string

	// hardware is the published HardwareData, nil while there is none, and
	// hardwareWait says why.
	hardware     *bmov1alpha1.ObjectReference
	hardwareWait progress.Wait

	// releaseWait is why the host of a claim that goes is not free yet.
	releaseWait progress.Wait

	// finished says that the claim goes and nothing is left to report.
	finished bool
}

// standing is how a claim stands with its host: what the binder returns.
type standing struct {
	// step is Keep, Release, ReportLost, Rest, Choose, Take or Finish; empty if the
	// pass failed before that was known. It was decided on known.
	step  binding.Step
	known binding.Binding
	// host is the host that names the claim, nil while no host does.
	host *bmov1alpha1.BareMetalHost
	// swept is the namespace of hosts where this pass has deleted the copies of the claim's
	// secrets; empty for none.
	swept string
}

// hostless says that the claim has no host, and has lost none.
func (at standing) hostless() bool {
	return (at.step == binding.Choose || at.step == binding.Rest) &&
		(at.known.Record == binding.Unrecorded || at.known.Record == binding.Blank)
}

// grant is what policies permit the claim on the hosts of its host's namespace.
func (s *scope) grant() policy.Grant {
	if s.host == nil {
		return policy.Grant{}
	}
	return s.decision.Grants[s.host.Namespace]
}

// adoptable are the moved hosts that the claim may have, by what its status says now.
func (s *scope) adoptable() []bmov1alpha1.BareMetalHost {
	return slices.DeleteFunc(slices.Clone(s.moved), func(host bmov1alpha1.BareMetalHost) bool {
		return !binding.Adoptable(&host, s.claim)
	})
}

// goesOnAsTold says that the host was told what to write, and is not about to be switched on for it.
func (s *scope) goesOnAsTold() bool {
	return binding.HasPayload(s.host) && (s.host.Spec.Online || !binding.Online(s.claim, s.host))
}

// crossing says that claim and host are in different namespaces.
func (s *scope) crossing() bool {
	return s.host != nil && s.host.Namespace != s.claim.Namespace
}
