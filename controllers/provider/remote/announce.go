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
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
)

// The log lines of connections name servers, namespaces, Secrets and our own
// reasons. They never repeat what a remote cluster says, nor a kubeconfig.

// announce logs that a connection came, went, or fails for another reason.
func (c *connection) announce(ctx context.Context, target identity.Target, before, after state) {
	if before.name() == after.name() {
		return
	}
	log := ctrl.LoggerFrom(ctx).WithValues("server", target.Server, "namespace", target.Namespace)
	switch {
	case after.problem == nil:
		log.Info("Connected to the remote cluster")
	case before.problem == nil && !before.pending():
		log.Info("Lost the connection to the remote cluster", "reason", after.problem.Reason)
	default:
		log.Info("Cannot connect to the remote cluster", "reason", after.problem.Reason)
	}
}

// announceSecret logs that the Secret of an identityRef cannot be used, or holds
// other credentials than before.
func announceSecret(ctx context.Context, ref identity.Ref, before, after *identity.Problem, rotated bool) {
	log := ctrl.LoggerFrom(ctx).WithValues("namespace", ref.Namespace, "secret", ref.Secret)
	switch {
	case after != nil:
		if before == nil || before.Reason != after.Reason {
			log.Info("Cannot use the Secret of an identityRef", "reason", after.Reason)
		}
	case rotated:
		log.Info("Using other credentials for the remote cluster")
	}
}
