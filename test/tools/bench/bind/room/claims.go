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

package room

import (
	"context"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// NewClaim is a claim for a host with the labels; it asks for no image and no
// power, so that what is measured is its bind.
func NewClaim(prefix string, n int, labels map[string]string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: Tenant(n), Name: fmt.Sprintf("%s-%05d", prefix, n)},
		Spec:       bmov1alpha1.HostClaimSpec{HostSelector: bmov1alpha1.HostSelector{MatchLabels: labels}},
	}
}

// AddClaims makes claims as fast as the API server takes them, and returns their
// names and the moment before the first one.
func (r *Room) AddClaims(ctx context.Context, prefix string, count int, labels map[string]string) ([]types.NamespacedName, time.Time, error) {
	keys := make([]types.NamespacedName, count)
	begun := time.Now()
	err := site.InParallel(ctx, 0, count, func(ctx context.Context, n int) error {
		claim := NewClaim(prefix, n, labels)
		keys[n] = client.ObjectKeyFromObject(claim)
		return r.Create(ctx, claim)
	})
	return keys, begun, err
}
