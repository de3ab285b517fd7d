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

package ippool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
)

// State sums up all of a pool that decides whether it has an address to give: which pool it
// is and its spec, then, behind a dash, which claims have its addresses. Claims that it refuses
// do not change it, so a pool that is asked once for each state comes to rest.
func State(pool *ipamv1alpha1.IPPool) string {
	holders := sha256.New()
	for _, holder := range slices.Sorted(maps.Keys(pool.Status.Allocations)) {
		fmt.Fprintf(holders, " %s=%s", holder, pool.Status.Allocations[holder])
	}
	spec := sha256.Sum256(fmt.Appendf(nil, "%s %d", pool.UID, pool.Generation))
	return hex.EncodeToString(spec[:])[:2*hashLength] + "-" + hex.EncodeToString(holders.Sum(nil))[:2*hashLength]
}

// otherSpec says that two states are of pools that may answer differently: another pool of the
// name, or another spec. Who has the addresses does not count.
func otherSpec(asked, now string) bool {
	before, _, known := strings.Cut(asked, "-")
	after, _, exists := strings.Cut(now, "-")
	return known && exists && before != after
}
