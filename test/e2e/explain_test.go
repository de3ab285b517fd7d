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

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// explain tells of every machine that does not run, in the given namespaces or
// in all, at which step it is and which of its conditions do not hold.
func (l *testCluster) explain(namespaces ...string) string {
	// The machines are in memory; the context of the caller may be over.
	machines, err := l.world.Machines(context.Background(), namespaces...)
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, m := range machines {
		if done := m.Running() || alone(m) && m.Provisioned(); !done {
			text.WriteString(explainMachine(m))
		}
	}
	if text.Len() == 0 {
		return "every machine runs"
	}
	return "machines that do not run:\n" + strings.TrimRight(text.String(), "\n")
}

// explainMachine tells at which step a machine is, and what does not hold.
func explainMachine(m world.Machine) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", m.Name(), m.Step())
	for _, line := range complaints(m) {
		fmt.Fprintf(&text, "    %s\n", line)
	}
	return text.String()
}

// alone says that a machine was made by hand for a test about servers. It
// does not become a Node.
func alone(m world.Machine) bool {
	return metav1.GetControllerOf(m.Machine) == nil
}

// complaints lists the conditions of a machine and of what stands behind it that
// do not hold.
func complaints(m world.Machine) []string {
	lines := conditionLines("Machine", m.Machine.Status.Conditions)
	if m.Metal3 != nil {
		lines = append(lines, conditionLines("Metal3Machine", m.Metal3.Status.Conditions)...)
	}
	if m.Claim != nil {
		lines = append(lines, conditionLines("HostClaim", m.Claim.Status.Conditions)...)
	}
	if m.Host != nil {
		lines = append(lines, fmt.Sprintf("BareMetalHost %s/%s is %s, error %q", m.Host.Namespace, m.Host.Name,
			m.Host.Status.Provisioning.State, m.Host.Status.ErrorMessage))
	}
	return lines
}

func conditionLines(kind string, conditions []metav1.Condition) []string {
	// These are false on a machine that is well.
	fine := []string{
		clusterv1.PausedCondition, clusterv1.DeletingCondition,
		clusterv1.MachineUpdatingCondition,
	}
	var lines []string
	for _, c := range conditions {
		if c.Status != metav1.ConditionTrue && !slices.Contains(fine, c.Type) {
			lines = append(lines, fmt.Sprintf("%s %s: %s %s", kind, c.Type, c.Reason, strings.ReplaceAll(c.Message, "\n", " ")))
		}
	}
	return lines
}
