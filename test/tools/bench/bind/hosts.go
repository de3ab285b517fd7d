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

package main

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// addHosts makes free hosts, those from the first number to before the last.
func (r *room) addHosts(ctx context.Context, first, last int) error {
	return site.InParallel(ctx, first, last, func(ctx context.Context, n int) error {
		labels := map[string]string{"rack": fmt.Sprintf("rack-%03d", n/40)}
		return r.AddHost(ctx, newHost(fmt.Sprintf("host-%05d", n), labels))
	})
}

// newHost is a host that was not registered yet.
func newHost(name string, labels map[string]string) *bmov1alpha1.BareMetalHost {
	return site.NewHost(infra, name, labels)
}
