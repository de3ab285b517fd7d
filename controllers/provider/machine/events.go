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

package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
)

// transition is something that happened to a machine and that its owner may
// want to know of.
type transition struct {
	kind, reason, action, note string
}

// transitions compares a machine before and after a pass.
func transitions(before, after *infrav1.Metal3Machine) []transition {
	var all []transition
	if hostOf(before) != "" && released(after) && !released(before) {
		gone := transition{corev1.EventTypeNormal, "Released", "Release", "Host " + hostOf(before) + " was given back"}
		if conditions.GetReason(before, infrav1.HostClaimReadyCondition) == infrav1.ReservedReason {
			gone = transition{corev1.EventTypeNormal, "Reserved", "Release", "Host " + hostOf(before) + " is kept for the next machine"}
		}
		all = append(all, gone)
	}
	host, begins := hostOf(after), provisioned(after) && !provisioned(before)
	switch fresh := host != "" && hostOf(before) != host; {
	case fresh && begins:
		all = append(all, transition{corev1.EventTypeNormal, "Provisioned", "Provision", "Bound to host " + host + ", and provisioned with provider ID " + after.Spec.ProviderID})
	case fresh:
		all = append(all, transition{corev1.EventTypeNormal, "HostBound", "Bind", "Bound to host " + host})
	case begins:
		all = append(all, transition{corev1.EventTypeNormal, "Provisioned", "Provision", "Provisioned with provider ID " + after.Spec.ProviderID})
	}
	return slices.Concat(all, rebuilds(before, after), troubles(before, after))
}

// rebuilds are the beginning and the end of a rebuild.
func rebuilds(before, after *infrav1.Metal3Machine) []transition {
	var all []transition
	if c, became := becameFalse(before, after, infrav1.HostClaimReadyCondition); became && c.Reason == infrav1.RebuildingReason {
		all = append(all, transition{corev1.EventTypeNormal, c.Reason, "Rebuild", c.Message})
	}
	now, refused := after.Annotations[infrav1.RebuiltAnnotation], conditions.GetReason(after, infrav1.SpecAppliedCondition) == infrav1.RebuildRefusedReason
	if now != "" && now != before.Annotations[infrav1.RebuiltAnnotation] && provisioned(before) && !refused {
		all = append(all, transition{corev1.EventTypeNormal, "Rebuilt", "Rebuild", "The server was written anew"})
	}
	return all
}

// troubles are the transitions that the owner of the machine may have to act on.
func troubles(before, after *infrav1.Metal3Machine) []transition {
	var all []transition
	if c, became := becameFalse(before, after, infrav1.AssociateBareMetalHostCondition); became {
		switch c.Reason {
		case infrav1.HostLostReason, infrav1.HostClaimNameTakenReason, infrav1.BootstrapSecretNotFoundReason,
			infrav1.SecretsForbiddenReason, infrav1.HostClaimTakenOverReason, infrav1.HostClaimAPIMissingReason, infrav1.InvalidConfigurationReason,
			infrav1.WaitingForMetal3MachineOwnerRefReason:
			all = append(all, transition{corev1.EventTypeWarning, c.Reason, "Bind", c.Message})
		}
	}
	if c, became := becameFalse(before, after, infrav1.IdentityReadyCondition); became && c.Reason != infrav1.IdentityConnectingReason {
		all = append(all, transition{corev1.EventTypeWarning, c.Reason, "Connect", c.Message})
	}
	if c, became := becameFalse(before, after, infrav1.KubernetesNodeReadyCondition); became {
		switch c.Reason {
		case infrav1.NodeAmbiguousReason, infrav1.NodeTakenReason:
			all = append(all, transition{corev1.EventTypeWarning, c.Reason, "FindNode", c.Message})
		}
	}
	return all
}

// becameFalse returns the condition if it is False for another reason than before.
func becameFalse(before, after *infrav1.Metal3Machine, conditionType string) (*metav1.Condition, bool) {
	was, is := conditions.Get(before, conditionType), conditions.Get(after, conditionType)
	if is == nil || is.Status != metav1.ConditionFalse {
		return nil, false
	}
	return is, was == nil || was.Status != is.Status || was.Reason != is.Reason
}

// abandonment tells where a claim was left behind.
func abandonment(machine string, record identity.Record) transition {
	what := "The HostClaim of this machine in another cluster, if there is one,"
	if record.Origin != "" {
		what = fmt.Sprintf("HostClaim %q in namespace %q of %s", claims.RemoteName(machine, record.Origin), record.Namespace, record.Server)
	}
	return transition{
		corev1.EventTypeWarning, "ClaimAbandoned", "Release",
		what + " was left behind with its server, which may still run: delete it in that cluster",
	}
}

// milestone is a log line about a step in the life of a machine.
type milestone struct {
	message string
	values  []any
}

// milestones are the steps that the machine has made in a pass, but for the writes of
// its claim and its data, which are logged where they are made.
func milestones(before, after *infrav1.Metal3Machine) []milestone {
	var all []milestone
	if now := hostOf(after); now != "" && hostOf(before) != now {
		namespace, name, _ := strings.Cut(now, "/")
		all = append(all, milestone{"Host bound", []any{"BareMetalHost", klog.KRef(namespace, name)}})
	}
	if conditions.IsTrue(after, infrav1.Metal3DataReadyCondition) && !conditions.IsTrue(before, infrav1.Metal3DataReadyCondition) {
		all = append(all, milestone{"Data ready", nil})
	}
	if provisioned(after) && !provisioned(before) {
		all = append(all, milestone{"Machine provisioned", []any{"providerID", after.Spec.ProviderID}})
	}
	if now := after.Status.NodeName; now != "" && before.Status.NodeName != now {
		all = append(all, milestone{"Node found", []any{"Node", klog.KRef("", now)}})
	}
	if released(after) && !released(before) {
		all = append(all, milestone{"Machine released", nil})
	}
	return all
}

// announce logs, and emits events and metrics for, what happened in this pass, once it
// is written. Abandoned is the record of a claim that was left behind, nil if none was.
func (r *Reconciler) announce(ctx context.Context, s *scope, abandoned *identity.Record) {
	for _, m := range milestones(s.before, s.machine) {
		ctrl.LoggerFrom(ctx).Info(m.message, m.values...)
	}
	happened := transitions(s.before, s.machine)
	if abandoned != nil && released(s.machine) { // and not given back
		happened = []transition{abandonment(s.machine.Name, *abandoned)}
	}
	for _, t := range happened {
		r.Recorder.Eventf(s.machine, nil, t.kind, t.reason, t.action, "%s", t.note)
	}
	if provisioned(s.machine) && !provisioned(s.before) {
		r.Metrics.provisioned(s.machine.Namespace, clusterName(s.machine), r.Clock.Since(s.machine.CreationTimestamp.Time))
	}
}
