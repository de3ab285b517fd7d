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
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

const (
	// stepTimeout is how long anything may take. Seconds are the rule, and the rest
	// is for machines that are busy with something else.
	stepTimeout = 6 * time.Minute
	// pace is how often it is looked at, in memory as a rule.
	pace = 100 * time.Millisecond
)

// eventually repeats check until it passes. It gives up at once when a process
// of the cluster has ended, and then or when time is up tells which machines do
// not run and why.
func eventually(t *testing.T, what string, check func(g gomega.Gomega)) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func(g gomega.Gomega) {
		if err := lab.crashed(); err != nil {
			gomega.StopTrying(err.Error()).Now()
		}
		check(g)
	}).WithContext(t.Context()).WithTimeout(stepTimeout).WithPolling(pace).Should(gomega.Succeed(), func() string {
		return what + "; " + lab.explain()
	})
}

// must ends the test if what it did as a step of the story did not work.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waits expects a condition of a Metal3Machine to be False for the reason, with
// a message that says all of the parts.
func waits(t *testing.T, key client.ObjectKey, condition, reason string, parts ...string) {
	t.Helper()
	eventually(t, key.String()+" waits for "+reason, func(g gomega.Gomega) {
		m := &infrav1.Metal3Machine{}
		g.Expect(lab.world.Get(t.Context(), key, m)).To(gomega.Succeed())
		says(g, m.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: reason}, parts...)
	})
}

// says expects a condition with that status and reason, and the parts in its message.
func says(g gomega.Gomega, conditions []metav1.Condition, want metav1.Condition, parts ...string) {
	got := meta.FindStatusCondition(conditions, want.Type)
	g.Expect(got).NotTo(gomega.BeNil(), "condition %s", want.Type)
	g.Expect([]any{got.Status, got.Reason}).To(gomega.Equal([]any{want.Status, want.Reason}), "condition %s: %s", want.Type, got.Message)
	for _, part := range parts {
		g.Expect(got.Message).To(gomega.ContainSubstring(part))
	}
}

// provisioned expects a Metal3Machine to be reported as provisioned and Ready.
func provisioned(t *testing.T, key client.ObjectKey) *infrav1.Metal3Machine {
	t.Helper()
	m := &infrav1.Metal3Machine{}
	eventually(t, key.String()+" is provisioned", func(g gomega.Gomega) {
		g.Expect(lab.world.Get(t.Context(), key, m)).To(gomega.Succeed())
		g.Expect(ptr.Deref(m.Status.Initialization.Provisioned, false)).To(gomega.BeTrue(), "status.initialization.provisioned")
		g.Expect(meta.IsStatusConditionTrue(m.Status.Conditions, infrav1.ReadyCondition)).To(gomega.BeTrue(), "condition Ready")
	})
	return m
}

// unsaid lists the parts that a text lacks.
func unsaid(text string, parts ...string) (missing []string) {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			missing = append(missing, part)
		}
	}
	return missing
}
