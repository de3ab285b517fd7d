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
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	workload "github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
)

// errNameTaken is the error of a pass whose claim has the name of another claim in the remote cluster. The
// pass is retried, since no event reports that the other claim goes.
var errNameTaken = errors.New("the name of the HostClaim is taken")

// applyClaim brings the claim in line with the plan.
func (r *Reconciler) applyClaim(ctx context.Context, s *scope) (err error) {
	if s.plan.Claim == nil {
		taken := func(c metav1.Condition) bool { return c.Reason == infrav1.HostClaimNameTakenReason }
		if s.Remote != nil && slices.ContainsFunc(s.plan.Conditions, taken) {
			return errNameTaken // the plan reports it
		}
		return nil
	}
	if s.hostClaim == nil && s.Group.Asked {
		err = s.claims.ConfirmUnclaimed(ctx) // it may have adopted one of any name
	}
	if current := s.Claim; current.Deployment != nil && s.plan.Claim.Rebuild != "" && s.plan.Claim.Rebuild != current.Rebuild {
		err = r.confirmRebuild(ctx, s)
	}
	if err == nil {
		s.applied, err = s.claims.Apply(ctx, *s.plan.Claim, s.hostClaim)
	}
	return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
		"The HostClaim of the machine cannot be written", err)
}

// confirmRebuild reads Machine and Metal3Machine live before the write that has a server wiped, and fails
// if they are not as the rebuild was decided on. The two have separate caches: the Metal3Machine may show
// the text of a template before the Machine does, where Cluster API writes it first.
func (r *Reconciler) confirmRebuild(ctx context.Context, s *scope) error {
	machine, owner := &infrav1.Metal3Machine{}, &clusterv1.Machine{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.Machine), machine); err != nil {
		return fmt.Errorf("read Metal3Machine before its server is wiped: %w", err)
	}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.Owner), owner); err != nil {
		return fmt.Errorf("read Machine before its server is wiped: %w", err)
	}
	unchanged := equality.Semantic.DeepEqual(machine.Spec, s.before.Spec) && machine.DeletionTimestamp.IsZero()
	for _, key := range []string{infrav1.RebuildAnnotation, infrav1.RebuiltAnnotation} {
		unchanged = unchanged && machine.Annotations[key] == s.before.Annotations[key] && owner.Annotations[key] == s.Owner.Annotations[key]
	}
	if !unchanged {
		return patch.Conflict("the rebuild was decided on what is no more")
	}
	return nil
}

// applyName writes the secret that gives the server the name of its machine. It is created and never changed,
// since the server reads it when it boots; it goes with its machine.
func (r *Reconciler) applyName(ctx context.Context, s *scope) error {
	if !s.plan.WriteName {
		return nil
	}
	const condition = infrav1.Metal3DataReadyCondition
	content, err := metadata.Render(nil, nameFacts(s.Observed))
	if err != nil {
		return s.failed(condition, infrav1.RenderingFailedReason, err.Error(), err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       s.Machine.Namespace,
			Name:            metadata.SecretName(s.Machine.Name),
			Labels:          map[string]string{clusterv1.ClusterNameLabel: s.Cluster.Name},
			OwnerReferences: []metav1.OwnerReference{ownedBy(s.Machine)},
		},
		Type: infrav1.RenderedSecretType,
		Data: map[string][]byte{secretkeys.MetaData: content},
	}
	ctrl.LoggerFrom(ctx).Info("Writing the secret that names the server", "Secret", klog.KObj(secret))
	err = r.Client.Create(ctx, secret, client.FieldOwner(infrav1.MachineFieldOwner))
	switch {
	case apierrors.IsAlreadyExists(err):
		return patch.Conflict("Secret %s is there by now", secret.Name)
	case apierrors.IsForbidden(err):
		return s.failed(condition, infrav1.SecretsForbiddenReason, hostclaims.Forbidden("create", s.Machine.Namespace), err)
	default:
		return s.failed(condition, infrav1.WaitingForMetal3DataReason, fmt.Sprintf("Secret %q cannot be written", secret.Name), err)
	}
}

// applyDataClaim writes the planned Metal3DataClaim once; what it asks for cannot be changed. What it has lost
// of its owner, and the finalizer that holds it, are put back.
func (r *Reconciler) applyDataClaim(ctx context.Context, s *scope) error {
	if s.dataClaim != nil {
		return patch.Restore(ctx, r.Client, s.dataClaim, []metav1.OwnerReference{ownedBy(s.Machine)}, infrav1.MachineFinalizer)
	}
	if s.plan.DataTemplate == "" {
		return nil
	}
	desired := desiredDataClaim(s.Machine, s.Cluster.Name, s.plan.DataTemplate, s.plan.DataDomain)
	ctrl.LoggerFrom(ctx).Info("Applying Metal3DataClaim", "Metal3DataClaim", klog.KObj(desired),
		"Metal3DataTemplate", klog.KRef(desired.Namespace, s.plan.DataTemplate))
	return s.failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataFailedReason,
		"The Metal3DataClaim of the machine cannot be written", patch.Apply(ctx, r.Client, desired, infrav1.MachineFieldOwner))
}

// desiredDataClaim is the claim for data, whole. Our finalizer holds it until the server is free: addresses of
// a running server must not go to another one.
func desiredDataClaim(machine *infrav1.Metal3Machine, cluster, template, domain string) *infrav1.Metal3DataClaim {
	claim := &infrav1.Metal3DataClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3DataClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: machine.Namespace,
			Name:      machine.Name,
			Labels:    maps.Clone(machine.Labels),
			// The second is that of the controller which answers the claim, and would else begin by adding it.
			Finalizers:      []string{infrav1.MachineFinalizer, infrav1.DataClaimFinalizer},
			OwnerReferences: []metav1.OwnerReference{ownedBy(machine)},
		},
		Spec: infrav1.Metal3DataClaimSpec{
			Template: &infrav1.Metal3ObjectRef{Name: template, Namespace: machine.Namespace},
		},
	}
	metav1.SetMetaDataLabel(&claim.ObjectMeta, clusterv1.ClusterNameLabel, cluster)
	if domain != "" {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.HostFailureDomainAnnotation, domain)
	}
	return claim
}

// ownedBy makes the machine the controller of what is made for it.
func ownedBy(machine *infrav1.Metal3Machine) metav1.OwnerReference {
	return patch.ControlledBy(machine, infrav1.GroupVersion.WithKind(claims.MachineKind))
}

// patchNode writes what the Node lacks.
func (r *Reconciler) patchNode(ctx context.Context, s *scope) error {
	if s.nodeErr != nil {
		message := "The Nodes of the workload cluster cannot be read"
		if refused, ok := errors.AsType[*identity.Problem](s.nodeErr); ok { // in words of ours
			message += ": " + refused.Message
		}
		return s.failed(infrav1.KubernetesNodeReadyCondition, infrav1.WorkloadClusterUnreachableReason, message, s.nodeErr)
	}
	patch := s.plan.NodePatch
	if patch == nil {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Patching Node", "Node", klog.KRef("", patch.Node), "providerID", patch.ProviderID)
	err := r.Nodes.Patch(ctx, client.ObjectKeyFromObject(s.Cluster), *patch)
	if errors.Is(err, workload.ErrNotConnected) {
		return nil
	}
	if patch.Labels != nil {
		err = s.failed(infrav1.NodeLabelsSynchronizedCondition, infrav1.WaitingForNodeReason,
			"The labels of the server cannot be written to the Node", err)
	}
	if patch.ProviderID != "" || patch.HostUID != "" {
		err = s.failed(infrav1.KubernetesNodeReadyCondition, infrav1.WaitingForNodeReason, "The Node cannot be given its provider ID", err)
	}
	return err
}

// endHold ends the pause of a KubeadmConfig that an update in place has put, as soon as the server is empty, or
// when Cluster API has called the update off. It is woken by the claim, and by the marks that Cluster API takes
// off Metal3Machine and Machine.
func (r *Reconciler) endHold(ctx context.Context, s *scope) error {
	name, held := s.Machine.Annotations[infrav1.HeldConfigAnnotation]
	awaited, found := s.awaitsData()
	if !r.UpdatesInPlace || !held || !found {
		return nil
	}
	const condition, reason = infrav1.HostClaimReadyCondition, infrav1.WaitingForBootstrapDataReason
	config := &bootstrapv1.KubeadmConfig{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.Owner.Namespace, Name: name}, config)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return s.failed(condition, reason, "The KubeadmConfig of the machine cannot be read", fmt.Errorf("read KubeadmConfig %s: %w", name, err))
	case err == nil && metav1.IsControlledBy(config, s.Owner) && staysHeld(config.Annotations, awaited):
		return nil
	case err == nil && metav1.IsControlledBy(config, s.Owner) && config.Annotations[clusterv1.PausedAnnotation] == infrav1.UpdatePause:
		ctrl.LoggerFrom(ctx).Info("Letting new bootstrap data be made", "KubeadmConfig", klog.KObj(config))
		before := config.DeepCopy()
		delete(config.Annotations, clusterv1.PausedAnnotation)
		if err := r.Client.Patch(ctx, config, patch.Locked(before)); err != nil {
			return s.failed(condition, reason, "The pause of the KubeadmConfig of the machine cannot be ended", err)
		}
	}
	delete(s.Machine.Annotations, infrav1.HeldConfigAnnotation)
	return nil
}
