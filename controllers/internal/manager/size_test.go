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

package manager

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// lax has no rules.
type lax struct{}

func (lax) ValidateCreate(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return admission.Warnings{"asked"}, nil
}

func (lax) ValidateUpdate(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) (admission.Warnings, error) {
	return admission.Warnings{"asked"}, nil
}

func (lax) ValidateDelete(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return admission.Warnings{"asked"}, nil
}

func TestValidator(t *testing.T) {
	tests := map[string]struct {
		before, after int // bytes; before is 0 for a new object
		refused       bool
	}{
		"takes a new object of the limit":           {after: SizeLimit},
		"refuses a larger one":                      {after: SizeLimit + 1, refused: true},
		"takes an object that grows to the limit":   {before: 100, after: SizeLimit},
		"refuses one that grows past it":            {before: SizeLimit, after: SizeLimit + 1, refused: true},
		"refuses one past it that grows":            {before: 2 * SizeLimit, after: 2*SizeLimit + 1, refused: true},
		"takes one past it that shrinks":            {before: 2 * SizeLimit, after: 2*SizeLimit - 1},
		"takes one past it that stays as it was":    {before: 2 * SizeLimit, after: 2 * SizeLimit},
		"leaves the deletion itself to other rules": {before: 2 * SizeLimit},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Object:    runtime.RawExtension{Raw: make([]byte, tt.after)},
				OldObject: runtime.RawExtension{Raw: make([]byte, tt.before)},
			}}
			ctx, v, object := admission.NewContextWithRequest(t.Context(), request), SizeValidator[*corev1.ConfigMap]{Validator: lax{}}, &corev1.ConfigMap{}
			var asked admission.Warnings
			var err error
			switch {
			case tt.after == 0:
				asked, err = v.ValidateDelete(ctx, object)
			case tt.before == 0:
				asked, err = v.ValidateCreate(ctx, object)
			default:
				asked, err = v.ValidateUpdate(ctx, &corev1.ConfigMap{}, object)
			}
			expect.That(t, (err != nil) == tt.refused && (err == nil || strings.Contains(err.Error(), "524288")), "answered with %v, want refused %t", err, tt.refused)
			expect.That(t, (len(asked) == 0) == tt.refused, "the other rules gave %v", asked)
		})
	}
	if _, err := (SizeValidator[*corev1.ConfigMap]{Validator: lax{}}).ValidateCreate(t.Context(), &corev1.ConfigMap{}); err == nil {
		t.Error("an object that cannot be weighed is taken")
	}
}
