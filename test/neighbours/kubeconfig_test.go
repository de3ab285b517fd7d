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

package neighbours

import (
	"testing"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/hostile"
)

// A kubeconfig whose aliases stand for far more than its bytes is refused before it is
// expanded, whether it is to lead to hosts or to the workload cluster.
func TestKubeconfigOfAliases(t *testing.T) {
	s := begin(t, "aliases")
	defer s.end()
	s.ok(place.Secret(s.ctx, s.tenant, "hosts", "kubeconfig", hostile.AliasBomb()))
	s.ok(place.Secret(s.ctx, s.tenant, "cluster-kubeconfig", "value", hostile.AliasBomb()))
	keys := s.machines("hosts", "", 3)
	s.ok(place.AwaitIdentity(s.ctx, infrav1.ForbiddenKubeconfigFeatureReason, keys...))
	s.serveHonest()
}
