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

// Package report decides what kubectl metal3 tells about the objects that it has read: what an object
// waits for, which object is the cause, when a machine reached each station, how a pool is used. It
// reads nothing, and knows no time but that of the objects.
package report

import (
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
)

// Link is one object on the way from a Cluster to a server.
type Link struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Ready is True, False or Unknown; empty if the object could not be read.
	Ready string `json:"ready,omitempty"`
	// Condition is what the object waits for, or Ready. Reason, Message and Since are those of it.
	Condition string       `json:"condition,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
	Since     *metav1.Time `json:"since,omitempty"`
	// Unread is why the object could not be read.
	Unread string `json:"unread,omitempty"`
	// Children are the objects that this one stands on.
	Children []Link `json:"children,omitempty"`
}

// Waits reports whether the object was read and is not ready.
func (l Link) Waits() bool {
	return l.Unread == "" && l.Ready != string(metav1.ConditionTrue)
}

// Objects are what could be read of the way of one machine. What is nil does not exist, does not
// concern the machine, or is among the unread.
type Objects struct {
	Machine       *clusterv1.Machine
	Metal3Machine *infrav1.Metal3Machine
	Data          *infrav1.Metal3Data
	Claim         *bmov1alpha1.HostClaim
	Host          *bmov1alpha1.BareMetalHost
	// Unread are links of which only the name and the cause is known.
	Unread []Link
}

// Tree returns the objects as a tree, the Machine on top.
func (o Objects) Tree() []Link {
	return nest([][]Link{o.machine(), o.metal3Machine(), append(o.data(), o.claim()...), o.host()})
}

// nest hangs each level below the last link of the one above it, or below what is above that where it is empty.
func nest(levels [][]Link) []Link {
	if len(levels) == 0 {
		return nil
	}
	below := nest(levels[1:])
	if len(levels[0]) == 0 {
		return below
	}
	last := &levels[0][len(levels[0])-1]
	last.Children = append(last.Children, below...)
	return levels[0]
}

func (o Objects) machine() []Link {
	if o.Machine == nil {
		return o.unread("Machine")
	}
	l := linkTo("Machine", o.Machine)
	types := []string{clusterv1.InfrastructureReadyCondition, clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition, clusterv1.ReadyCondition}
	if !ptr.Deref(o.Machine.Status.Initialization.BootstrapDataSecretCreated, false) {
		types = append([]string{clusterv1.BootstrapConfigReadyCondition}, types...)
	}
	l.judge(o.Machine, o.Machine.Status.Conditions, types...)
	return []Link{l}
}

func (o Objects) metal3Machine() []Link {
	if o.Metal3Machine == nil {
		return o.unread("Metal3Machine")
	}
	l := linkTo("Metal3Machine", o.Metal3Machine)
	l.sumUp(o.Metal3Machine, o.Metal3Machine.Status.Conditions)
	if node := meta.FindStatusCondition(o.Metal3Machine.Status.Conditions, infrav1.KubernetesNodeReadyCondition); !l.Waits() && node != nil && node.Status != metav1.ConditionTrue {
		l.take(*node)
	}
	return []Link{l}
}

func (o Objects) data() []Link {
	if o.Data == nil {
		return o.unread("Metal3Data")
	}
	l := linkTo("Metal3Data", o.Data)
	l.sumUp(o.Data, o.Data.Status.Conditions)
	return []Link{l}
}

func (o Objects) claim() []Link {
	if o.Claim == nil {
		return o.unread("HostClaim")
	}
	return []Link{claimLink(o.Claim)}
}

func claimLink(claim *bmov1alpha1.HostClaim) Link {
	l := linkTo("HostClaim", claim)
	l.sumUp(claim, claim.Status.Conditions)
	if c := meta.FindStatusCondition(claim.Status.Conditions, infrav1.StoodDownCondition); c != nil && c.Status == metav1.ConditionTrue {
		l.take(*c)
		l.Ready = string(metav1.ConditionFalse)
	}
	return l
}

// host is ready when baremetal-operator does nothing with the server, and has nothing to complain of. Its
// state and its error stand for the conditions that a BareMetalHost need not have.
func (o Objects) host() []Link {
	if o.Host == nil {
		return o.unread("BareMetalHost")
	}
	l, status := linkTo("BareMetalHost", o.Host), o.Host.Status
	l.Ready, l.Condition, l.Reason = string(metav1.ConditionFalse), "provisioning.state", binding.StateName(o.Host)
	switch status.Provisioning.State {
	case bmov1alpha1.StateProvisioned, bmov1alpha1.StateExternallyProvisioned, bmov1alpha1.StateAvailable, bmov1alpha1.StateReady:
		l.Ready = string(metav1.ConditionTrue)
	case bmov1alpha1.StateProvisioning:
		l.Message, l.Since = "The image is being written", known(status.OperationHistory.Provision.Start)
	case bmov1alpha1.StateDeprovisioning:
		l.Message, l.Since = "The host is being wiped", known(status.OperationHistory.Deprovision.Start)
	}
	if status.ErrorMessage != "" {
		l.Ready, l.Condition, l.Reason, l.Message = string(metav1.ConditionFalse), "errorMessage", string(status.ErrorType), status.ErrorMessage
	}
	return []Link{l}
}

func (o Objects) unread(kind string) []Link {
	var found []Link
	for _, l := range o.Unread {
		if l.Kind == kind {
			found = append(found, l)
		}
	}
	return found
}

// ClusterLink returns the link of a Cluster.
func ClusterLink(cluster *clusterv1.Cluster) Link {
	l := linkTo("Cluster", cluster)
	l.judge(cluster, cluster.Status.Conditions, clusterv1.InfrastructureReadyCondition, clusterv1.ClusterControlPlaneAvailableCondition, clusterv1.AvailableCondition)
	if ptr.Deref(cluster.Spec.Paused, false) {
		l.Ready, l.Condition, l.Reason, l.Message = string(metav1.ConditionFalse), "spec.paused", clusterv1.PausedReason, "The Cluster is paused: nothing is written for it until spec.paused is false"
		l.Since = nil
	}
	return l
}

// InfrastructureLink returns the link of a Metal3Cluster.
func InfrastructureLink(cluster *infrav1.Metal3Cluster) Link {
	l := linkTo("Metal3Cluster", cluster)
	l.sumUp(cluster, cluster.Status.Conditions)
	return l
}

func linkTo(kind string, o metav1.Object) Link {
	return Link{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// judge takes the first condition of the types that does not hold, for objects of Cluster API: their Ready
// gives no reason, and a deletion has a condition of its own.
func (l *Link) judge(o metav1.Object, conditions []metav1.Condition, types ...string) {
	if c := meta.FindStatusCondition(conditions, clusterv1.DeletingCondition); c != nil && c.Status == metav1.ConditionTrue {
		l.take(*c)
		l.Ready = string(metav1.ConditionFalse)
		return
	}
	var last *metav1.Condition
	for _, t := range types {
		last = meta.FindStatusCondition(conditions, t)
		if last != nil && last.Status != metav1.ConditionTrue {
			break
		}
	}
	l.takeOr(o, last)
}

// sumUp takes the condition that Ready repeats, or Paused where the object is paused before it is ready.
func (l *Link) sumUp(o metav1.Object, conditions []metav1.Condition) {
	ready := meta.FindStatusCondition(conditions, clusterv1.ReadyCondition)
	l.takeOr(o, ready)
	if ready == nil || !l.Waits() {
		return
	}
	for _, c := range conditions {
		switch {
		case c.Type == clusterv1.PausedCondition && c.Status == metav1.ConditionTrue:
			l.take(c)
			l.Ready = string(metav1.ConditionFalse)
			return
		case c.Type != clusterv1.ReadyCondition && c.Status != metav1.ConditionTrue && c.Reason == ready.Reason:
			l.take(c)
		}
	}
}

func (l *Link) take(c metav1.Condition) {
	l.Ready, l.Condition, l.Reason, l.Message = string(c.Status), c.Type, c.Reason, oneLine(c.Message)
	l.Since = known(c.LastTransitionTime)
}

func (l *Link) takeOr(o metav1.Object, c *metav1.Condition) {
	if c != nil {
		l.take(*c)
		return
	}
	l.Ready, l.Condition, l.Reason = string(metav1.ConditionUnknown), clusterv1.ReadyCondition, "NotReported"
	l.Message, l.Since = "The object has no condition yet: check that its controller runs", known(o.GetCreationTimestamp())
}

// oneLine joins the lines of a message that Cluster API makes of several.
func oneLine(message string) string {
	lines := strings.FieldsFunc(message, func(r rune) bool { return r == '\n' })
	for i := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines[i]), "* "))
	}
	return strings.Join(lines, "; ")
}

func known(t metav1.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
