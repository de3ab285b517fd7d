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
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestWithheld(t *testing.T) {
	refused := hostclass.Verdict{Answers: true, Reason: infrav1.ClassNotFoundReason}
	tests := map[string]struct {
		claim   metav1.ObjectMeta
		verdict hostclass.Verdict
		want    bool
	}{
		"a new claim that its class refuses":         {metav1.ObjectMeta{}, refused, true},
		"a new claim that its class permits":         {metav1.ObjectMeta{}, hostclass.Verdict{Answers: true}, false},
		"one that has the finalizer":                 {metav1.ObjectMeta{Finalizers: []string{infrav1.HostClaimFinalizer}}, refused, false},
		"one that was bound and lost its finalizer":  {bound("uid"), refused, false},
		"one that another controller has taken, too": {metav1.ObjectMeta{Finalizers: []string{"hostclaim.metal3.io/machines"}}, refused, true},
		"one that was bound under another UID":       {bound("before"), refused, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.claim.UID = "uid"
			expect.Equal(t, tt.want, withheld(&bmov1alpha1.HostClaim{ObjectMeta: tt.claim}, tt.verdict))
		})
	}
}

func bound(uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Annotations: map[string]string{infrav1.BoundClaimUIDAnnotation: uid}}
}
