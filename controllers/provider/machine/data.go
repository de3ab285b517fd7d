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
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
)

// dataSteps ask for the metadata and network data of a machine by a Metal3DataClaim, and
// write the secret that names its server where it gets no other metadata.
type dataSteps struct {
	client client.Client
	// live reads past the cache.
	live client.Reader
	// written are the Metal3DataClaims that were written last, by machine.
	written *retry.Written
	// now tells the time.
	now func() time.Time
}

// observe reads the Metal3DataClaim of the machine, which has its name, and
// the Metal3Data that answers it.
func (d dataSteps) observe(ctx context.Context, s *scope) progress.Outcome {
	claim, found, err := readDataClaim(ctx, d.client, s.machine)
	until, behind := d.behind(s, found)
	switch {
	case err != nil:
		return failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataFailedReason,
			"The Metal3DataClaim of the machine cannot be read", err)
	case behind:
		return progress.Behind(until, "Metal3DataClaim")
	case !found:
		return progress.Outcome{}
	case !datatemplate.MadeBy(claim, s.machine):
		s.observed.Data.NameTaken = true
		return progress.Outcome{}
	}
	s.dataClaim = claim
	data, err := d.readData(ctx, claim)
	if err != nil {
		return failed(infrav1.Metal3DataReadyCondition, infrav1.WaitingForMetal3DataReason, "The Metal3Data of the machine cannot be read", err)
	}
	s.observed.Data = dataFacts(claim, data)
	return progress.Outcome{}
}

// behind says that the cache does not show yet a Metal3DataClaim which was made a moment ago.
func (d dataSteps) behind(s *scope, found bool) (until time.Time, behind bool) {
	if found || s.deleted() {
		return time.Time{}, false
	}
	return d.written.Behind(client.ObjectKeyFromObject(s.machine), patch.OnlyNew, d.now())
}

// observeDomains reads which templates are for certain failure domains, for a machine that is about to
// ask for data. The cache may not know yet the Metal3MachineTemplate that the machine was made from.
func (d dataSteps) observeDomains(ctx context.Context, s *scope) progress.Outcome {
	name, made := claims.TemplateOf(s.machine.Annotations)
	soon := s.observed.Facts || s.observed.Claim.Binding
	if s.dataClaim != nil || !soon || s.machine.Spec.DataTemplate == nil || !made {
		return progress.Outcome{}
	}
	template, key := &infrav1.Metal3MachineTemplate{}, client.ObjectKey{Namespace: s.machine.Namespace, Name: name}
	err := d.client.Get(ctx, key, template)
	if apierrors.IsNotFound(err) {
		err = d.live.Get(ctx, key, template)
	}
	if apierrors.IsNotFound(err) {
		s.observed.Data.Unlisted = name
		return progress.Outcome{}
	}
	if err != nil {
		return failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataFailedReason,
			"The Metal3MachineTemplate of the machine cannot be read", fmt.Errorf("read Metal3MachineTemplate %s: %w", name, err))
	}
	s.observed.Data.ByDomain = template.Spec.FailureDomainDataTemplates
	return progress.Outcome{}
}

// readDataClaim reads the Metal3DataClaim of the machine's name, which may belong to
// something else.
func readDataClaim(ctx context.Context, reader client.Reader, machine *infrav1.Metal3Machine) (*infrav1.Metal3DataClaim, bool, error) {
	claim := &infrav1.Metal3DataClaim{}
	if err := reader.Get(ctx, client.ObjectKeyFromObject(machine), claim); err != nil {
		return nil, false, client.IgnoreNotFound(err)
	}
	return claim, true, nil
}

// readData reads the Metal3Data that the claim names. It is empty when there is
// none: then the claim has not been answered, or the cache is behind and an
// event wakes us.
func (d dataSteps) readData(ctx context.Context, claim *infrav1.Metal3DataClaim) (infrav1.Metal3Data, error) {
	data := infrav1.Metal3Data{}
	if claim.Status.RenderedData == nil || claim.Status.RenderedData.Name == "" {
		return data, nil
	}
	key := client.ObjectKey{Namespace: claim.Namespace, Name: claim.Status.RenderedData.Name}
	err := d.client.Get(ctx, key, &data)
	return data, client.IgnoreNotFound(err)
}

// dataFacts reads a Metal3DataClaim and the Metal3Data that it names. The name
// alone proves nothing: it is written down before the Metal3Data is made, and
// may turn out to be that of another machine's, with the secrets of its server. That an address
// has not come yet is told by the Metal3Data alone.
func dataFacts(claim *infrav1.Metal3DataClaim, data infrav1.Metal3Data) machines.DataFacts {
	facts := machines.DataFacts{
		ClaimExists: true,
		ChosenFor:   claim.Annotations[infrav1.HostFailureDomainAnnotation],
		ClaimHeld:   claim.DeletionTimestamp.IsZero() || controllerutil.ContainsFinalizer(claim, infrav1.MachineFinalizer),
	}
	if template := claim.Spec.Template; template != nil {
		facts.Template = template.Name
	}
	facts.Reason, facts.Message = complaint(claim, claim.Status.ErrorMessage)
	if !datatemplate.MadeFor(&data, claim) {
		return facts
	}
	facts.Name = data.Name
	facts.Ready = ptr.Deref(data.Status.Ready, false) && data.DeletionTimestamp.IsZero()
	switch reason, message := complaint(&data, data.Status.ErrorMessage); {
	case facts.Ready:
		facts.MetaData, facts.NetworkData = secretName(data.Spec.MetaData), secretName(data.Spec.NetworkData)
		facts.Reason, facts.Message = "", ""
	case reason == infrav1.WaitingForAddressesReason:
		facts.Reason, facts.Message = "", "" // what the claim says is older
	case message != "":
		facts.Reason, facts.Message = reason, message
	}
	return facts
}

// complaint is what an object says about why it is not ready, if anything.
func complaint(o conditions.Getter, errorMessage string) (reason, message string) {
	c := conditions.Get(o, infrav1.ReadyCondition)
	switch {
	case c != nil && c.Status != metav1.ConditionTrue && c.Message != "":
		return c.Reason, c.Message
	case errorMessage != "":
		return infrav1.RenderingFailedReason, errorMessage
	default:
		return "", ""
	}
}

// apply writes the planned Metal3DataClaim once; what it asks for cannot be
// changed. What it has lost of its owner, and the finalizer that holds it, are put back.
func (d dataSteps) apply(ctx context.Context, p *planned) progress.Outcome {
	switch {
	case p.dataClaim != nil:
		owners := []metav1.OwnerReference{ownedBy(p.machine)}
		return progress.Failed(patch.Restore(ctx, d.client, p.dataClaim, owners, infrav1.MachineFinalizer))
	case p.plan.Data == nil:
		return progress.Outcome{}
	}
	desired := desiredDataClaim(p.machine, p.cluster.Name, *p.plan.Data)
	ctrl.LoggerFrom(ctx).Info("Applying Metal3DataClaim", "Metal3DataClaim", klog.KObj(desired),
		"Metal3DataTemplate", klog.KRef(desired.Namespace, p.plan.Data.Template))
	version, err := patch.ApplyVersioned(ctx, d.client, desired, infrav1.MachineFieldOwner)
	if err != nil {
		return failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataFailedReason,
			"The Metal3DataClaim of the machine cannot be written", fmt.Errorf("apply Metal3DataClaim %s: %w", desired.Name, err))
	}
	d.written.Wrote(client.ObjectKeyFromObject(p.machine), version, d.now())
	return progress.Outcome{}
}

// desiredDataClaim is the claim for data, whole. Our finalizer holds it until
// the server is free: addresses of a running server must not go to another one.
func desiredDataClaim(machine *infrav1.Metal3Machine, cluster string, request machines.DataRequest) *infrav1.Metal3DataClaim {
	labels := maps.Clone(machine.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = cluster
	var annotations map[string]string
	if request.FailureDomain != "" {
		annotations = map[string]string{infrav1.HostFailureDomainAnnotation: request.FailureDomain}
	}
	return &infrav1.Metal3DataClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3DataClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   machine.Namespace,
			Name:        machine.Name,
			Labels:      labels,
			Annotations: annotations,
			// The second is that of the controller which answers the claim, and which
			// would else begin by adding it.
			Finalizers:      []string{infrav1.MachineFinalizer, infrav1.DataClaimFinalizer},
			OwnerReferences: []metav1.OwnerReference{ownedBy(machine)},
		},
		Spec: infrav1.Metal3DataClaimSpec{
			Template: &infrav1.Metal3ObjectRef{Name: request.Template, Namespace: machine.Namespace},
		},
	}
}

// ownedBy makes the machine the controller of what is made for it.
func ownedBy(machine *infrav1.Metal3Machine) metav1.OwnerReference {
	return patch.ControlledBy(machine, infrav1.GroupVersion.WithKind(claims.MachineKind))
}

// release takes our finalizer off the Metal3DataClaim and deletes it. The
// finalizer goes first, since deleting would make the copy at hand an old one.
func (d dataSteps) release(ctx context.Context, r *releasing) progress.Outcome {
	if !r.plan.ReleaseData {
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Releasing Metal3DataClaim", "Metal3DataClaim", klog.KObj(r.dataClaim))
	err := d.dropFinalizer(ctx, r.dataClaim)
	if err == nil && r.dataClaim.DeletionTimestamp.IsZero() {
		err = d.client.Delete(ctx, r.dataClaim, client.Preconditions{UID: &r.dataClaim.UID})
	}
	if client.IgnoreNotFound(err) != nil {
		return failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.DisassociateM3MetaDataFailedReason,
			"The Metal3DataClaim of the machine cannot be released", err)
	}
	return progress.Outcome{}
}

// dropFinalizer takes our finalizer off. Those of others are in the same
// list: hence the lock.
func (d dataSteps) dropFinalizer(ctx context.Context, claim *infrav1.Metal3DataClaim) error {
	before := claim.DeepCopy()
	if !controllerutil.RemoveFinalizer(claim, infrav1.MachineFinalizer) {
		return nil
	}
	return d.client.Patch(ctx, claim, patch.Locked(before))
}

func secretName(ref *corev1.SecretReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}
