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

package hostclaim

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// The roles of config/hostclaim/rbac under the names that kustomize gives them.
const (
	sourceSecretsRole = "hostclaim-source-secrets"
	hostSecretsRole   = "hostclaim-host-secrets"

	// timeout is how long a test waits; each step takes milliseconds.
	timeout = time.Minute
	// stillness is how long something is watched that must not happen.
	stillness = 500 * time.Millisecond
)

var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(timeout)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	gomega.SetDefaultConsistentlyDuration(stillness)
	ctrl.SetLogger(klog.Background())
	os.Exit(server.Run(withRoles{m}))
}

// withRoles installs the roles of the manager before the tests run.
type withRoles struct{ tests *testing.M }

func (w withRoles) Run() int {
	if err := server.InstallRoles(context.Background(), harness.HostClaimAccount()); err != nil {
		fmt.Fprintf(os.Stderr, "install the roles: %v\n", err)
		return 1
	}
	for _, name := range movedKinds {
		if err := labelKind(context.Background(), name, true); err != nil {
			fmt.Fprintf(os.Stderr, "label the kinds that move: %v\n", err)
			return 1
		}
	}
	return w.tests.Run()
}
