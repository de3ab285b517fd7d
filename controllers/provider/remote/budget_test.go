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

package remote

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func claimOf(name string, size int) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: name, Labels: map[string]string{"l": "v"}, Annotations: map[string]string{"a": strings.Repeat("x", size)},
	}}
}

// step is one object or answer on its way into a connection.
type step struct {
	to            string
	before, after any
	read          int64
}

func TestBudget(t *testing.T) {
	const kB = 1 << 10
	one := weightOf(claimOf("0", 10*kB))
	flood := func(to string, n int) []step {
		var out []step
		for i := range n {
			out = append(out, step{to: to, after: claimOf(fmt.Sprint(i), 10*kB)})
		}
		return out
	}
	for name, tt := range map[string]struct {
		steps []step
		want  map[string]string // connection to flag of the bound
	}{
		"what fits stays": {steps: flood("a", 9)},
		"a connection that holds too much is cut off, and no other": {
			steps: append(flood("b", 2), flood("a", 11)...), want: map[string]string{"a": "--identity-connection-memory"},
		},
		"an object that changes counts once": {
			steps: append(flood("a", 8), step{to: "a", before: claimOf("0", 10*kB), after: claimOf("0", 11*kB)}),
		},
		"an object that goes counts no more": {
			steps: append(append(flood("a", 9), step{to: "a", before: claimOf("0", 10*kB)}), step{to: "a", after: claimOf("0", 10*kB)}),
		},
		"all together have a bound, and the largest goes": {
			steps: append(append(flood("a", 9), flood("b", 8)...), flood("c", 9)...), want: map[string]string{"a": "--identity-memory"},
		},
		"a namespace with many connections is the largest": {
			steps: append(append(append(flood("many-1", 7), flood("many-2", 6)...), flood("a", 8)...), flood("b", 5)...),
			want:  map[string]string{"many-1": "--identity-memory"},
		},
		"answers that are read count": {
			steps: append(flood("b", 8), step{to: "a", read: 16 * one}), want: map[string]string{"a": "--identity-memory"},
		},
		"answers that were read do not": {
			steps: append(append(flood("b", 8), step{to: "a", read: 14 * one}, step{to: "a", read: -14 * one}), flood("c", 9)...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBudget(99*one/10, 47*one/2)
			meters := map[string]*meter{}
			got := map[string]string{}
			for _, s := range tt.steps {
				m := meters[s.to]
				if m == nil {
					namespace, _, _ := strings.Cut(s.to, "-")
					m = b.meter(namespace, identity.Target{})
					meters[s.to] = m
					m.begin(func(problem error) { got[s.to] = problem.Error()[strings.LastIndex(problem.Error(), "--"):] })
				}
				m.read(s.read)
				m.replace(s.before, s.after)
			}
			for _, m := range meters {
				m.close()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" && len(tt.want)+len(got) > 0 {
				t.Error(diff)
			}
			expect.That(t, b.sum == b.sumOfAnswers(meters) && len(b.meters) == 0, "%d bytes are left of %d connections", b.sum, len(b.meters))
		})
	}
}

func (b *budget) sumOfAnswers(meters map[string]*meter) int64 {
	sum := int64(0)
	for _, m := range meters {
		sum += m.answers
	}
	return sum
}

// Nothing more is read for a connection that is to be cut off, until it begins anew.
func TestCutOff(t *testing.T) {
	m := newBudget(8<<10, 1<<20).meter("n", identity.Target{})
	for range 2 {
		m.begin(func(error) {})
		m.replace(nil, claimOf("small", 10))
		expect.That(t, m.read(10), "it is cut off")
		m.replace(nil, claimOf("large", 10<<10))
		expect.That(t, !m.read(10), "it reads on")
	}
}

// A cache that ends before it is filled serves no user: its reads would wait until the end of their pass.
func TestACacheThatEndedIsNotFilled(t *testing.T) {
	c := &connection{
		registry:  &Registry{options: Options{RequestTimeout: time.Minute}},
		transport: transport.New(kubeconfig.Access{Server: "https://hosts"}, transport.Limits{}, "", func(*http.Response) {}),
	}
	filled := make(chan bool, 1)
	filled <- false
	expect.That(t, c.await(t.Context(), identity.Target{}, filled) != nil, "it is served from")
}

func TestStripDropsHardwareThatNobodyReads(t *testing.T) {
	data := &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
		Hostname: "server-1", Storage: make([]bmov1alpha1.Storage, 1000),
	}}}
	data.ManagedFields = make([]metav1.ManagedFieldsEntry, 10)
	kept, err := strip(data)
	want := &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{Hostname: "server-1"}}}
	if diff := cmp.Diff(want, kept); diff != "" || err != nil {
		t.Errorf("%v, what is kept (-want +got):\n%s", err, diff)
	}
}

func TestWeightOf(t *testing.T) {
	small, large := weightOf(claimOf("m", 1)), weightOf(claimOf("m", 1001))
	expect.Equal(t, 1000, large-small)
	expect.That(t, small >= 500 && small <= 3000, "a claim with nothing in it weighs %d", small)
	many := &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
		NIC: make([]bmov1alpha1.NIC, 1000),
	}}}
	weight := weightOf(many)
	expect.That(t, weight >= 100_000, "a thousand empty NICs weigh %d", weight)
}
