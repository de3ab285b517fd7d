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
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// The server of a claim is switched or rebooted so many times within the window, since
// a BMC is hardware.
const (
	maxPowerChanges = 10
	powerWindow     = 10 * time.Minute
)

// powerChanges remembers when the servers of claims were switched or rebooted. A
// manager that restarts begins with none.
type powerChanges struct {
	mu    sync.Mutex
	times map[types.NamespacedName][]time.Time // the last ones of each claim, the oldest first
}

// wait says why the server of a claim is neither switched nor rebooted now: policy does
// not admit the claim any more, or it was done too often.
func (c *powerChanges) wait(s *scope, now time.Time) progress.Outcome {
	if !s.grant().Admitted {
		return progress.Waiting(infrav1.PolicyRevokedReason,
			"no HostDeployPolicy admits this namespace to the host any more, so its power is not switched and no reboot is passed on")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	times := c.times[keyOf(s.claim)]
	if len(times) < maxPowerChanges || now.Sub(times[0]) >= powerWindow {
		return progress.Outcome{}
	}
	return progress.Until(times[0].Add(powerWindow), infrav1.PowerChangesLimitedReason,
		"The server was switched or rebooted 10 times within 10 minutes; what is asked for now is done when they are over")
}

// add notes that the server of a claim was switched or rebooted.
func (c *powerChanges) add(claim types.NamespacedName, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.times == nil {
		c.times = map[types.NamespacedName][]time.Time{}
	}
	times := append(slices.Clone(c.times[claim]), now)
	c.times[claim] = times[max(0, len(times)-maxPowerChanges):]
}

// forget drops a claim that is gone.
func (c *powerChanges) forget(claim types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.times, claim)
}
