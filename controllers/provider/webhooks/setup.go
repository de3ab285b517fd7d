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
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
)

// SetupWithManager registers all webhooks under the paths that
// config/webhook names.
func SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3Cluster{}).WithDefaulter(Cluster{}).WithValidator(clusterAdmission{clusterValidator(), mgr.GetClient()}).Complete()
	if err != nil {
		err = fmt.Errorf("webhook of Metal3Cluster: %w", err)
	}
	return errors.Join(err,
		validate(mgr, &infrav1.Metal3ClusterTemplate{}, clusterTemplateValidator()),
		validate(mgr, &infrav1.Metal3Machine{}, machineValidator()),
		validate(mgr, &infrav1.Metal3MachineTemplate{}, machineTemplateValidator()),
		validate(mgr, &infrav1.Metal3DataTemplate{}, dataTemplateValidator()),
		validate(mgr, &infrav1.Metal3DataClaim{}, dataClaimValidator()))
}

func validate[T client.Object](mgr ctrl.Manager, object T, rules admission.Validator[T]) error {
	if err := ctrl.NewWebhookManagedBy(mgr, object).WithValidator(manager.SizeValidator[T]{Rules: rules}).Complete(); err != nil {
		return fmt.Errorf("webhook of %T: %w", object, err)
	}
	return nil
}
