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
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefusal(t *testing.T) {
	host, quoted := schema.GroupResource{Resource: "baremetalhosts"}, errors.New("policy of team x")
	tests := map[string]struct {
		given error
		want  string // empty for no refusal
	}{
		"a policy forbids it":       {apierrors.NewForbidden(host, "x", quoted), "forbids it"},
		"a policy denies it":        {apierrors.NewInvalid(schema.GroupKind{Kind: "BareMetalHost"}, "x", nil), "denies it"},
		"it is no request":          {apierrors.NewBadRequest(quoted.Error()), "denies it"},
		"it is too long":            {apierrors.NewRequestEntityTooLargeError(quoted.Error()), "256 KiB"},
		"a webhook does not answer": {apierrors.NewInternalError(fmt.Errorf("failed calling webhook x: %w", quoted)), "failurePolicy"},
		"it fails inside":           {apierrors.NewInternalError(quoted), ""},
		"the object is newer":       {apierrors.NewConflict(host, "x", quoted), ""},
		"the object is gone":        {apierrors.NewNotFound(host, "x"), ""},
		"there was no answer":       {quoted, ""},
		"it took too long":          {apierrors.NewTimeoutError(quoted.Error(), 1), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := refusal(fmt.Errorf("make the host ready: %w", tt.given))
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) || strings.Contains(got, quoted.Error()) {
				t.Errorf("refusal() = %q, want %q", got, tt.want)
			}
		})
	}
}
