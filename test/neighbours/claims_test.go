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
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/town"
)

// The administrator of one pool writes a policy whose pattern compiles to gigabytes.
// The tenants of the other pools get their hosts.
func TestPolicyOfRepetitions(t *testing.T) {
	s := begin(t, "repetitions")
	defer s.end()
	s.ok(place.Pool(s.ctx, "pool-of-repetitions"))
	s.ok(place.Create(s.ctx, &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "pool-of-repetitions", Name: "policy"},
		Spec: bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{
			NameMatches: strings.Repeat("x{1000}", 3000),
		}},
	}))
	s.ok(place.WaitingClaims(s.ctx, s.tenant, 20))
	s.serveHonest()
}

// Secrets that look like copies of a manager's, but were copied from nowhere, are none:
// no claim is looked for in the whole cluster for them.
func TestSecretsLikeCopies(t *testing.T) {
	const secrets = 50
	s := begin(t, "copies")
	defer s.end()
	_, err := place.Serve(s.ctx, types.NamespacedName{Namespace: s.tenant, Name: "machine"})
	s.ok(err)
	s.until("the host gets a copy of the user data", func() bool {
		host := &bmov1alpha1.BareMetalHost{}
		s.ok(place.Get(s.ctx, types.NamespacedName{Namespace: town.Infra, Name: "machine"}, host))
		return host.Spec.UserData != nil
	})
	s.ok(place.LikeCopies(s.ctx, s.tenant, secrets))
	s.serveHonest()
	s.ok(place.Quiet(s.ctx, time.Second))
	s.atMost("requests of the hostclaim manager", int64(s.requests(place.HostClaim)), 2*secrets)
}

// Claims that no host suits come in hundreds, and each costs no more than one that waits
// alone: its finalizer and its status, once. That one which a host suits does not wait
// for the passes over all of them is shown by the tests of the queue.
func TestHoardOfClaims(t *testing.T) {
	const hoard = 300
	s := begin(t, "hoard")
	defer s.end()
	s.ok(place.WaitingClaims(s.ctx, s.tenant, hoard))
	s.serveHonest()
	s.ok(place.Quiet(s.ctx, time.Second))
	s.atMost("requests of the hostclaim manager", int64(s.requests(place.HostClaim)), 3*hoard)
}
