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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
)

func claimOf(name string, size int) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: name, Labels: map[string]string{"l": "v"}, Annotations: map[string]string{"a": strings.Repeat("x", size)},
	}}
}

// step is one object or answer on its way into a connection.
type step struct {
	to     string
	object client.Object
	gone   bool
	read   int64
}

func TestBudget(t *testing.T) {
	const kB = 1 << 10
	flood := func(to string, n int) []step {
		var out []step
		for i := range n {
			out = append(out, step{to: to, object: claimOf(fmt.Sprint(i), 10*kB)})
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
			steps: append(append(flood("a", 1), flood("a", 1)...), flood("a", 9)...),
		},
		"an object that goes counts no more": {
			steps: append(append(flood("a", 9), step{to: "a", object: claimOf("0", 0), gone: true}), step{to: "a", object: claimOf("x", 10*kB)}),
		},
		"all together have a bound, and the largest goes": {
			steps: append(append(flood("a", 9), flood("b", 8)...), flood("c", 9)...), want: map[string]string{"a": "--identity-memory"},
		},
		"a namespace with many connections is the largest": {
			steps: append(append(append(flood("many-1", 7), flood("many-2", 6)...), flood("a", 8)...), flood("b", 5)...),
			want:  map[string]string{"many-1": "--identity-memory"},
		},
		"answers that are read count": {
			steps: append(flood("b", 8), step{to: "a", read: 170 * kB}), want: map[string]string{"a": "--identity-memory"},
		},
		"answers that were read do not": {
			steps: append(append(flood("b", 8), step{to: "a", read: 150 * kB}, step{to: "a", read: -150 * kB}), flood("c", 9)...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBudget(105*kB, 250*kB)
			meters := map[string]*meter{}
			got := map[string]string{}
			for _, s := range tt.steps {
				m := meters[s.to]
				if m == nil {
					namespace, _, _ := strings.Cut(s.to, "-")
					m = b.meter(namespace, identity.Target{})
					meters[s.to] = m
				}
				switch {
				case s.object == nil:
					m.reading(s.read)
				case s.gone:
					m.drop(toolscache.DeletedFinalStateUnknown{Obj: s.object})
				default:
					if _, err := m.transform(s.object); err != nil {
						t.Fatal(err)
					}
				}
			}
			for name, m := range meters {
				select {
				case problem := <-m.over:
					got[name] = problem.Message[strings.LastIndex(problem.Message, "--"):]
				default:
				}
				m.close()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" && len(tt.want)+len(got) > 0 {
				t.Error(diff)
			}
			if b.sum != b.sumOfAnswers(meters) || len(b.meters) > 0 {
				t.Errorf("%d bytes are left of %d connections", b.sum, len(b.meters))
			}
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

// Of a connection that is to be cut off, only names come into the cache.
func TestTransformOfAConnectionThatIsCutOff(t *testing.T) {
	m := newBudget(8<<10, 1<<20).meter("n", identity.Target{})
	m.begin()
	for range 2 {
		whole, err := m.transform(claimOf("small", 10))
		if err != nil || whole.(*bmov1alpha1.HostClaim).Labels == nil { //nolint:forcetypeassert // a panic is a failure too
			t.Errorf("%v, %v", whole, err)
		}
		bare, err := m.transform(claimOf("large", 10<<10))
		if diff := cmp.Diff(&bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "large"}}, bare); diff != "" || err != nil {
			t.Error(diff, err)
		}
		m.begin() // the next cache may hold as much
	}
}

// Disks and the like, which nobody reads, take nothing of a tenant's share.
func TestTransformDropsHardwareThatNobodyReads(t *testing.T) {
	m := newBudget(8<<10, 1<<20).meter("n", identity.Target{})
	m.begin()
	data := &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
		Hostname: "server-1", Storage: make([]bmov1alpha1.Storage, 1000),
	}}}
	kept, err := m.transform(data)
	want := &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{Hostname: "server-1"}}}
	if diff := cmp.Diff(want, kept); diff != "" || err != nil || m.cut {
		t.Errorf("%v, cut off: %v, what is kept (-want +got):\n%s", err, m.cut, diff)
	}
}

func TestSizeOf(t *testing.T) {
	small, large := sizeOf(claimOf("m", 1)), sizeOf(claimOf("m", 1001))
	if large-small != 1000 {
		t.Errorf("1000 bytes more are %d", large-small)
	}
	if small < 500 || small > 3000 {
		t.Errorf("a claim with nothing in it takes %d bytes", small)
	}
	many := &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
		NIC: make([]bmov1alpha1.NIC, 1000),
	}}}
	if size := sizeOf(many); size < 100_000 {
		t.Errorf("a thousand empty NICs take %d bytes", size)
	}
}

// An object that is deleted while the cache is filled comes as an object and never leaves.
func TestObjectsThatWereDeletedDuringTheFirstListAreNotCounted(t *testing.T) {
	b := newBudget(1<<20, 1<<20)
	m := b.meter("n", identity.Target{})
	m.begin()
	for _, name := range []string{"stays", "late", "deleted"} {
		if _, err := m.transform(claimOf(name, 10)); err != nil {
			t.Fatal(err)
		}
	}
	one := sizeOf(claimOf("late", 10))
	m.put(claimOf("stays", 10))
	m.filled()
	m.put(claimOf("late", 10)) // the cache tells of its objects one after the other
	if want := one + sizeOf(claimOf("stays", 10)); m.held != want || b.sum != want {
		t.Errorf("holds %d bytes, %d in all, want %d", m.held, b.sum, want)
	}
	m.drop(claimOf("stays", 10))
	if m.held != one {
		t.Errorf("holds %d bytes, want %d", m.held, one)
	}
}
