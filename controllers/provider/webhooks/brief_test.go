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

package webhooks

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// The answer stays short enough to be read and sent, whatever the object holds.
func TestRefusalsAreBrief(t *testing.T) {
	labels, annotations, odd := map[string]string{}, map[string]string{}, map[string]string{}
	for i := range 5000 {
		labels[fmt.Sprint("no key ", i)], annotations[fmt.Sprint("no key ", i)] = "no value", ""
	}
	for i := range 32 {
		odd[fmt.Sprint("no key ", i)] = "no value"
	}
	huge := clusterv1.ObjectMeta{Labels: map[string]string{strings.Repeat("é", 100_000): ""}}
	values := make([]string, 4)
	for i := range values {
		values[i] = fmt.Sprint("no value ", i)
	}
	var expressions []infrav1.HostSelectorRequirement
	for range 32 {
		expressions = append(expressions, infrav1.HostSelectorRequirement{Key: "no key", Operator: "in", Values: values})
	}
	template := func(meta clusterv1.ObjectMeta, selector *infrav1.HostSelector) error {
		object := &infrav1.Metal3MachineTemplate{}
		object.Spec.Template.ObjectMeta, object.Spec.Template.Spec.HostSelector = meta, selector
		_, err := machineTemplateValidator().ValidateCreate(t.Context(), object)
		return err
	}
	tests := map[string]struct {
		err    error
		causes int
	}{
		"thousands of labels and annotations": {template(clusterv1.ObjectMeta{Labels: labels, Annotations: annotations}, nil), 20},
		"thousands of annotations":            {template(clusterv1.ObjectMeta{Annotations: annotations}, nil), 20},
		"a label without end":                 {template(huge, nil), 2},
		"labels and a selector":               {template(clusterv1.ObjectMeta{Labels: labels}, &infrav1.HostSelector{MatchLabels: odd}), 20},
		"a selector of labels":                {template(clusterv1.ObjectMeta{}, &infrav1.HostSelector{MatchLabels: odd}), 20},
		"a selector of many values":           {template(clusterv1.ObjectMeta{}, &infrav1.HostSelector{MatchExpressions: expressions}), 20},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var status *apierrors.StatusError
			expect.Must(t, errors.As(tc.err, &status), "answered with %v", tc.err)
			expect.Equal(t, tc.causes, len(status.ErrStatus.Details.Causes))
			expect.That(t, len(tc.err.Error()) <= 60_000, "the answer has %d bytes", len(tc.err.Error()))
		})
	}
}

// A change that is refused does not repeat a whole selector.
func TestRefusedChangesAreBrief(t *testing.T) {
	labels := map[string]string{}
	for i := range 5000 {
		labels[fmt.Sprint("key", i)] = "v"
	}
	before, after := &infrav1.Metal3MachineTemplate{}, &infrav1.Metal3MachineTemplate{}
	after.Spec.NodeReuse = ptr.To(true)
	after.Spec.Template.Spec.HostSelector = &infrav1.HostSelector{MatchLabels: labels}
	_, err := machineTemplateValidator().ValidateUpdate(t.Context(), before, after)
	expect.That(t, apierrors.IsInvalid(err) && len(err.Error()) <= 10_000, "answered with %d bytes", len(fmt.Sprint(err)))
}

// Maps have no order, and an answer that is cut is the same each time.
func TestRefusalsAreTheSameEachTime(t *testing.T) {
	object := &infrav1.Metal3ClusterTemplate{}
	object.Spec.Template.ObjectMeta.Labels = map[string]string{}
	for i := range 100 {
		object.Spec.Template.ObjectMeta.Labels[fmt.Sprint("no key ", i)] = ""
	}
	_, first := clusterTemplateValidator().ValidateCreate(t.Context(), object)
	_, second := clusterTemplateValidator().ValidateCreate(t.Context(), object)
	expect.That(t, first != nil && first.Error() == second.Error(), "answered with %v and then with %v", first, second)
}
