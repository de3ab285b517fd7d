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

package patch

import (
	"errors"
	"fmt"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestIgnoreGone(t *testing.T) {
	live := &bmov1alpha1.HostClaim{}
	dying := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}}
	notFound := fmt.Errorf("patch: %w", apierrors.NewNotFound(schema.GroupResource{}, "x"))
	broken := errors.New("broken")
	tests := map[string]struct {
		object *bmov1alpha1.HostClaim
		err    error
		stays  bool
	}{
		"no error is none":                                {object: dying},
		"a deleted object may be gone":                    {object: dying, err: notFound},
		"another error is one":                            {object: dying, err: broken, stays: true},
		"an object that was not deleted must not be gone": {object: live, err: notFound, stays: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := ignoreGone(tc.object, tc.err)
			expect.That(t, (got != nil) == tc.stays, "error is %v, should stay: %v", got, tc.stays)
		})
	}
}
