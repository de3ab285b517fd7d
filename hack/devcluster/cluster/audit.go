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

package cluster

import (
	_ "embed"
	"os"
	"path/filepath"
)

// auditPolicy logs each answered request of a service account once, without its body.
// Watches, leases and discovery are left out: they cost the same for any number of
// machines.
//
//go:embed audit.yaml
var auditPolicy []byte

// AuditLog is where the API server of a state folder logs requests, one JSON object a
// line, if the options ask for it.
func AuditLog(dir string) string {
	return filepath.Join(dir, "logs", "audit.log")
}

// auditArgs writes the policy and returns the flags that make use of it.
func (s *starter) auditArgs() ([]string, error) {
	if !s.options.Audit {
		return nil, nil
	}
	policy := filepath.Join(s.options.Dir, "audit.yaml")
	return []string{
		"--audit-policy-file", policy,
		"--audit-log-path", AuditLog(s.options.Dir),
		// Megabytes; at the default the log starts anew in a larger benchmark.
		"--audit-log-maxsize", "100000",
	}, os.WriteFile(policy, auditPolicy, 0o600)
}
