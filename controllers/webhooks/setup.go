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

package webhooks

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// SetupWithManager registers all webhooks under the paths that
// config/webhook names.
func SetupWithManager(mgr ctrl.Manager) error {
	if err := ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3Cluster{}).WithDefaulter(Cluster{}).Complete(); err != nil {
		return fmt.Errorf("webhook of Metal3Cluster: %w", err)
	}
	if err := ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3DataTemplate{}).WithValidator(DataTemplate{}).Complete(); err != nil {
		return fmt.Errorf("webhook of Metal3DataTemplate: %w", err)
	}
	return nil
}
