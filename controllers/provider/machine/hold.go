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

package machine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/inplace"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// heldData ends what updates in place hold. All its fields are needed.
type heldData struct {
	client client.Client
	// live reads past the cache: KubeadmConfigs are in none.
	live client.Reader
	// served says that this manager serves updates in place. Without, it may not read KubeadmConfigs.
	served bool
}

// end has new bootstrap data made for a Machine whose data was withdrawn for an update in place,
// as soon as its server is empty, or when Cluster API has called the update off. It is woken
// by the claim, and by the marks that Cluster API takes off Metal3Machine and Machine.
func (h heldData) end(ctx context.Context, p *planned) progress.Outcome {
	name := inplace.ConfigName(p.owner)
	awaited, found := p.observed.AwaitsData()
	if !h.served || !found || name == "" || p.owner.Spec.Bootstrap.DataSecretName != nil {
		return progress.Outcome{}
	}
	config := &bootstrapv1.KubeadmConfig{}
	err := h.live.Get(ctx, client.ObjectKey{Namespace: p.owner.Namespace, Name: name}, config)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err) && awaited == "": // so that no update has begun
		return progress.Outcome{}
	case err != nil:
		return failed(infrav1.HostClaimReadyCondition, infrav1.WaitingForBootstrapDataReason,
			"The KubeadmConfig of the machine cannot be read", fmt.Errorf("read KubeadmConfig %s: %w", name, err))
	case !metav1.IsControlledBy(config, p.owner), !inplace.EndsHold(config, awaited):
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Letting new bootstrap data be made", "KubeadmConfig", klog.KObj(config))
	before := config.DeepCopy()
	delete(config.Annotations, clusterv1.PausedAnnotation)
	if err := h.client.Patch(ctx, config, patch.Locked(before)); err != nil {
		return failed(infrav1.HostClaimReadyCondition, infrav1.WaitingForBootstrapDataReason,
			"The pause of the KubeadmConfig of the machine cannot be ended", fmt.Errorf("end the pause of KubeadmConfig %s: %w", name, err))
	}
	return progress.Outcome{}
}
