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

package manager

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestNamesOfOthersForgeNoLine logs names and errors that have a line of their own.
func TestNamesOfOthersForgeNoLine(t *testing.T) {
	const forged = "x\nE1129 10:00:00.000000       1 claim.go:1] \"All hosts are lost\"\r\x1b[2J"
	var out bytes.Buffer
	log := printableLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	ref := klog.KRef("tenant", forged)
	log.WithName("controller").WithValues("HostClaim", ref).Info("Patching Node", "Node", ref, "reason", errors.New(forged))
	log.Error(errors.New(forged), "Reconciler error", "Node", ref)
	log.Error(nil, "No error")
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	expect.That(t, len(lines) == 3 && !strings.ContainsAny(out.String(), "\r\x1b"), "logged %q", out.String())
	for _, line := range lines {
		expect.That(t, strings.Contains(line, " log_test.go:"), "%q does not tell who logged it", line)
	}
}
