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
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/hostile"
)

// A tenant whose API servers take as long as a request may, with more machines than
// the manager has workers, does not keep the machines of others waiting.
func TestSlowServers(t *testing.T) {
	s := begin(t, "slow")
	defer s.end()
	slow := hostile.Behavior{Delay: 4900 * time.Millisecond}
	var contexts []string
	for n := range 12 {
		contexts = append(contexts, fmt.Sprintf("hosts-%d", n))
	}
	servers := []*hostile.Server{s.server(slow, "contexts", contexts...)}
	for _, name := range contexts {
		s.machines("contexts", name, 5)
	}
	for n := range 3 {
		name := fmt.Sprintf("server-%d", n)
		servers = append(servers, s.server(slow, name, "hosts"))
		s.machines(name, "hosts", 4)
	}
	count := func(of func(*hostile.Server) int64) (sum int64) {
		for _, server := range servers {
			sum += of(server)
		}
		return sum
	}
	s.until("requests are held up", func() bool { return count((*hostile.Server).Held) > 0 })

	ended := count((*hostile.Server).Ended)
	s.serveHonest()
	ended = count((*hostile.Server).Ended) - ended
	s.Logf("the slow servers ended %d requests meanwhile, and got %d in all", ended, count((*hostile.Server).Requests))
	s.atMost("requests had to end before the honest machine was served", ended, 6*workers)
}

// A tenant whose API server refuses each write at once, with so many machines that
// their requests wait for the connection's rate limit, does not keep the machines of
// others waiting.
func TestFastRefusals(t *testing.T) {
	s := begin(t, "refusing")
	defer s.end()
	server := s.server(hostile.Behavior{}, "hosts", "hosts")
	s.machines("hosts", "hosts", 80)
	s.until("requests are refused", func() bool { return server.Requests() > 20 })

	before := server.Requests()
	s.serveHonest()
	meanwhile := server.Requests() - before
	s.Logf("the refusing server got %d requests meanwhile, and %d in all", meanwhile, server.Requests())
	s.atMost("requests were refused before the honest machine was served", meanwhile, 250)
}

// A tenant with thirty contexts in one kubeconfig gets as many connections as one namespace may
// have, and a condition that reports that.
func TestManyContexts(t *testing.T) {
	const contexts, most = 30, 10
	s := begin(t, "contexts")
	defer s.end()
	var names []string
	for n := range contexts {
		names = append(names, fmt.Sprintf("hosts-%d", n))
	}
	server := s.server(hostile.Behavior{}, "hosts", names...)
	var keys []types.NamespacedName
	for _, name := range names {
		keys = append(keys, s.machines("hosts", name, 1)...)
	}
	s.ok(place.AwaitAnswer(s.ctx, keys...))
	s.serveHonest()
	told := place.Had(infrav1.IdentityConnectionLimitReason, keys...)
	s.Logf("%d connections, %d requests, %d machines told of the limit", server.Connections(), server.Requests(), told)
	s.atMost("machines got a connection", contexts-told, most)
	s.atMost("TCP connections", server.Connections(), 2*most)
}

// A tenant whose API server adds claims without end is cut off, with a condition that reports that,
// and what it added is given back.
func TestFloodingServer(t *testing.T) {
	s := begin(t, "flooding")
	defer s.end()
	server := s.server(hostile.Behavior{Flood: 1000}, "hosts", "hosts")
	keys := s.machines("hosts", "hosts", 1)
	s.ok(place.AwaitIdentity(s.ctx, infrav1.IdentityMemoryLimitReason, keys...))
	s.Logf("cut off after %d claims in %d MiB", server.Added(), server.Sent()>>20)
	s.atMost("MiB of claims before the connection was cut off", server.Sent()>>20, 128)
	s.serveHonest()
}

// A tenant whose Secret leads to another namespace with each write has a few connections
// made by it. Nothing is left of them when its machines are gone.
func TestAttackFlippingIdentity(t *testing.T) {
	const flips, machines = 1000, 10
	s := begin(t, "flipping")
	defer s.end()
	server := s.server(hostile.Behavior{}, "hosts", "a", "b")
	var leads [2][]byte
	for i, contexts := range [][]string{{"b", "a"}, {"a", "b"}} {
		text, err := server.Kubeconfig(contexts...)
		s.ok(err)
		leads[i] = text
	}
	before := s.memory("before")
	s.machines("hosts", "", machines)
	s.until("requests of machines are refused", func() bool { return server.Writes() > 0 })
	opened := server.Opened()
	for n := range flips {
		s.ok(place.Patch(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.tenant, Name: "hosts"}},
			client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"kubeconfig":%q}}`, base64.StdEncoding.EncodeToString(leads[n%2])))))
	}
	s.memory(fmt.Sprintf("after %d flips", flips))
	opened = server.Opened() - opened
	s.Logf("%d flips had %d connections made", flips, opened)
	s.atMost("connections were made", opened, flips/10)
	s.serveHonest()
	s.ok(place.Evict(s.ctx, s.tenant))
	s.until("the goroutines of its connections end", func() bool {
		now, err := place.Provider.Goroutines(s.ctx)
		s.ok(err)
		return now <= before*1.1
	})
	s.memory("in the end")
}

// A tenant whose API servers send valid events for as long as they are read takes a bounded part of
// a processor, and gets a condition that reports that.
func TestAttackEndlessEvents(t *testing.T) {
	const clusters, machines = 8, 20
	s := begin(t, "endless")
	defer s.end()
	s.serveSeveral("alone", machines)
	endless := hostile.Behavior{Stream: true}
	servers, err := place.WorkloadClusters(s.ctx, s.tenant, endless, clusters)
	for _, server := range servers {
		t.Cleanup(server.Close)
	}
	s.ok(err)
	servers = append(servers, s.server(endless, "hosts", "hosts"))
	s.machines("hosts", "hosts", 1)
	sent := func() (sum int64) {
		for _, server := range servers {
			sum += server.Sent()
		}
		return sum
	}
	for _, server := range servers {
		s.until("events of all servers are read", func() bool { return server.Added() > 1000 })
	}
	s.until("its namespace is slowed", func() bool { return slices.Contains(s.slowed(), s.tenant) })
	before := sent()
	s.serveSeveral("beside", machines)
	s.Logf("%d KiB of events were read before, %d KiB meanwhile", before>>10, (sent()-before)>>10)
	expect.That(t, !slices.Contains(s.slowed(), honest), "the honest tenant is slowed too")
}
