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

package binding

import (
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// CheckGiveBack returns an error for the administrator if CAPM3 could not go on with the host of a paused claim: what
// is under way would be nobody's.
func CheckGiveBack(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) error {
	switch unrest := Unrest(claim, host); {
	case !Has(claim, host):
		return errors.New("the claim does not have the host: wait until it is bound")
	case !host.DeletionTimestamp.IsZero(), !claim.DeletionTimestamp.IsZero():
		return errors.New("host or claim is being deleted: wait until it is gone")
	case Held(host):
		return errors.New("the host is paused to be moved: take annotation " + infrav1.HostsMayMoveAnnotation +
			" off its namespace, unpause the Cluster until the host is not paused any more, and pause it again")
	case metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.PausedAnnotation):
		return errors.New("the host is paused: remove annotation " + bmov1alpha1.PausedAnnotation)
	case host.Status.Provisioning.State != bmov1alpha1.StateProvisioned:
		return fmt.Errorf("the host is in state %s: wait until it is provisioned", StateName(host))
	case !host.Spec.Online:
		return errors.New("the server is switched off, and CAPM3 switches none on: set spec.poweredOn of the HostClaim to true")
	case SaysUnhealthy(claim):
		return errors.New("the server is marked unhealthy: delete the Machine, so that another takes its place")
	case !OnHold(claim):
		return errors.New("its HostClaim is not paused yet: wait until the provider manager has seen the pause")
	case unrest != "":
		return errors.New(unrest + ": wait until it is at rest")
	}
	return nil
}

// GivenBack returns a host as CAPM3 has it for a machine: named by its consumer and its label, not to be moved, and without
// a mark of ours. What it runs stays. The cleaning mode is that of the machine, or else that of the administrator.
func GivenBack(host *bmov1alpha1.BareMetalHost, machine *infrav1.Metal3Machine) *bmov1alpha1.BareMetalHost {
	out := Freed(host)
	WithoutWork(out)
	out.Spec.ConsumerRef = &corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: MachineKind, Namespace: machine.Namespace, Name: machine.Name,
	}
	metav1.SetMetaDataLabel(&out.ObjectMeta, clusterv1.ClusterNameLabel, machine.Labels[clusterv1.ClusterNameLabel])
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.BlockMoveAnnotation, "") // until CAPM3 has prepared a move
	if mode := machine.Spec.AutomatedCleaningMode; mode != "" {
		out.Spec.AutomatedCleaningMode = bmov1alpha1.AutomatedCleaningMode(mode)
	}
	return out
}
