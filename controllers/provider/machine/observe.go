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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	workload "github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
)

// observe reads HostClaim, HardwareData, secrets, Metal3Data and Node, in this order: each reader may look at
// what those before it have found. What does not exist is a fact, not an error.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	for _, read := range []func(context.Context, *scope) error{
		r.observeClaim, r.observeHost, r.observeBootstrap, r.observeData, r.observeDomains, r.observeName, r.observeNode, r.copySecrets,
	} {
		if err := read(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// infrastructureProvisioned reports whether servers may be asked for.
func infrastructureProvisioned(cluster *clusterv1.Cluster) bool {
	return ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false)
}

// observeClaim finds the claim, and lets it go on if it was paused with the Cluster.
func (r *Reconciler) observeClaim(ctx context.Context, s *scope) (err error) {
	condition, reason := infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason
	if s.deleted() {
		condition, reason = infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason
	}
	s.hostClaim, s.TakenOver, err = s.claims.Find(ctx)
	if err != nil {
		return s.failed(condition, reason, "The HostClaim of the machine cannot be read", err)
	}
	s.Remote = s.claims.Remote()
	err = s.claims.Repause(ctx, s.hostClaim, false)
	s.Claim = claims.Read(s.hostClaim)
	return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.BareMetalHostPauseAnnotationRemoveFailedReason,
		"The HostClaim of the machine cannot be unpaused", err)
}

// observeHost reads what is published of the host. For a machine without a claim it reads what is reserved
// for it, and whether the name of its claim is free.
func (r *Reconciler) observeHost(ctx context.Context, s *scope) (err error) {
	const condition, reason = infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason
	if s.hostClaim != nil {
		s.Host, s.Facts, err = s.claims.Host(ctx, s.hostClaim)
		return s.failed(condition, reason, "The hardware facts of the host cannot be read", err)
	}
	if s.Machine.Spec.ProviderID == "" && !provisioned(s.Machine) {
		if err := r.observeGroup(ctx, s); err != nil {
			return s.failed(condition, reason, "The HostClaims that are reserved for the machine cannot be read", err)
		}
	}
	s.InTheWay, err = s.claims.InTheWay(ctx)
	return s.failed(condition, reason, "The HostClaim of the machine cannot be read", err)
}

// observeBootstrap finds out whether the user data exists, until the server has it, and whether it and the
// other Secrets of the machine may be handed out.
func (r *Reconciler) observeBootstrap(ctx context.Context, s *scope) error {
	r.Secrets.Ensure(s.Machine.Namespace) // before the read, so that no change is missed
	s.Bootstrap = BootstrapFacts{Secret: ptr.Deref(s.Owner.Spec.Bootstrap.DataSecretName, "")}
	if !s.asksForBootstrap() {
		return nil
	}
	refused, err := r.refusedData(ctx, s)
	if err == nil && refused != "" {
		s.Bootstrap.Reason, s.Bootstrap.Message = infrav1.InvalidConfigurationReason, refused
	} else if err == nil {
		s.Bootstrap.Reason, s.Bootstrap.Message, err = r.readBootstrap(ctx, s)
	}
	return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
		fmt.Sprintf("Secret %q with the user data, or one with other data, cannot be read", s.Bootstrap.Secret), err)
}

// readBootstrap reads the user data, live and again only when it has changed. It returns why no server can be given
// it; empty if one can.
func (r *Reconciler) readBootstrap(ctx context.Context, s *scope) (reason, message string, err error) {
	name, namespace := s.Bootstrap.Secret, s.Machine.Namespace
	if name == "" {
		return infrav1.WaitingForBootstrapDataReason, "Waiting for the bootstrap provider to name the bootstrap data of the Machine", nil
	}
	secret, err := r.Secrets.Outline(ctx, r.Live, client.ObjectKey{Namespace: namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return infrav1.BootstrapSecretNotFoundReason, fmt.Sprintf(
			"Secret %q with the user data does not exist in namespace %q: create it, or name another one", name, namespace), nil
	case apierrors.IsForbidden(err):
		return infrav1.SecretsForbiddenReason, hostclaims.Forbidden("get", namespace), nil
	case err != nil:
		return "", "", err
	}
	if _, found := secretkeys.Value(secretkeys.UserData, secret.Data); !found {
		return infrav1.InvalidConfigurationReason,
			fmt.Sprintf("Secret %q has no user data: it needs the key %q", name, secretkeys.Bootstrap), nil
	}
	if why := s.refuses(secret, secretkeys.UserData); why != "" {
		return infrav1.InvalidConfigurationReason, why, nil
	}
	return "", "", nil
}

// refusedData returns why one of the other Secrets that the Metal3Machine names is not handed out; empty if
// none is refused. The hostclaim manager reports those that are missing.
func (r *Reconciler) refusedData(ctx context.Context, s *scope) (string, error) {
	spec := s.Machine.Spec
	for _, named := range []struct {
		key string
		ref *corev1.SecretReference
	}{
		{secretkeys.MetaData, spec.MetaData},
		{secretkeys.NetworkData, spec.NetworkData},
		{corev1.DockerConfigJsonKey, &corev1.SecretReference{Name: s.pullSecret()}},
	} {
		if named.ref == nil || named.ref.Name == "" {
			continue
		}
		if why := foreignSecret(s.Machine.Namespace, named.ref); why != "" {
			return why, nil
		}
		secret, err := r.Secrets.Outline(ctx, r.Live, client.ObjectKey{Namespace: s.Machine.Namespace, Name: named.ref.Name})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		if why := s.refuses(secret, named.key); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// refuses returns why a Secret must not leave the namespace under a key. The Metal3Machine does not count
// as naming a pull secret, since it takes over the annotations of its Machine.
func (s *scope) refuses(secret *corev1.Secret, key string) string {
	return refuses(s.Owner, secret, key, key == secretkeys.MetaData || key == secretkeys.NetworkData)
}

// observeData reads the Metal3DataClaim of the machine, which has its name, and the Metal3Data that answers it.
func (r *Reconciler) observeData(ctx context.Context, s *scope) error {
	claim, err := readDataClaim(ctx, r.Client, s.Machine)
	switch {
	case err != nil:
		return s.failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataFailedReason,
			"The Metal3DataClaim of the machine cannot be read", err)
	case claim == nil:
		return nil
	case !datatemplate.MadeBy(claim, s.Machine):
		s.Data.NameTaken = true
		return nil
	}
	// One that is not found has not been made, or the cache is behind, and an event follows.
	data := infrav1.Metal3Data{}
	if ref := claim.Status.RenderedData; ref != nil && ref.Name != "" {
		err = client.IgnoreNotFound(r.Client.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: ref.Name}, &data))
	}
	s.dataClaim, s.Data = claim, dataFacts(claim, data)
	return s.failed(infrav1.Metal3DataReadyCondition, infrav1.WaitingForMetal3DataReason, "The Metal3Data of the machine cannot be read", err)
}

// readDataClaim reads the Metal3DataClaim of the machine's name, which may belong to something else; nil if
// there is none.
func readDataClaim(ctx context.Context, reader client.Reader, machine *infrav1.Metal3Machine) (*infrav1.Metal3DataClaim, error) {
	claim := &infrav1.Metal3DataClaim{}
	if err := reader.Get(ctx, client.ObjectKeyFromObject(machine), claim); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return claim, nil
}

// dataFacts reads a Metal3DataClaim and the Metal3Data that it names. The name alone proves nothing: it is
// written down before the Metal3Data is made, and may turn out to be that of another machine's, with the
// secrets of its server. Only the Metal3Data reports that a host or an address has not come yet.
func dataFacts(claim *infrav1.Metal3DataClaim, data infrav1.Metal3Data) DataFacts {
	facts := DataFacts{
		ClaimExists: true,
		ChosenFor:   claim.Annotations[infrav1.HostFailureDomainAnnotation],
		ClaimHeld:   claim.DeletionTimestamp.IsZero() || controllerutil.ContainsFinalizer(claim, infrav1.MachineFinalizer),
	}
	if template := claim.Spec.Template; template != nil {
		facts.Template = template.Name
	}
	facts.Reason, facts.Message = complaint(claim, claim.Status.ErrorMessage)
	if datatemplate.MadeFor(&data, claim) {
		facts.Name = data.Name
		facts.Ready = ptr.Deref(data.Status.Ready, false) && data.DeletionTimestamp.IsZero()
		if reason, message := complaint(&data, data.Status.ErrorMessage); reason != "" {
			facts.Reason, facts.Message = reason, message // that of the claim is older
		}
	}
	if facts.Ready {
		facts.MetaData, facts.NetworkData = firstName(data.Spec.MetaData, ""), firstName(data.Spec.NetworkData, "")
	}
	if facts.Reason == infrav1.WaitingForMetal3DataReason || datatemplate.ComesByItself(facts.Reason) {
		facts.Reason, facts.Message = "", "" // the machine words that itself: each would be a write
	}
	return facts
}

// complaint returns the reason and message with which an object reports that it is not ready;
// empty if it reports nothing.
func complaint(o capiconditions.Getter, errorMessage string) (reason, message string) {
	c := capiconditions.Get(o, infrav1.ReadyCondition)
	switch {
	case c != nil && c.Status != metav1.ConditionTrue && c.Message != "":
		return c.Reason, c.Message
	case errorMessage != "":
		return infrav1.RenderingFailedReason, errorMessage
	default:
		return "", ""
	}
}

// observeDomains reads which templates are for certain failure domains, for a machine that is about to ask
// for data. The cache may not know yet the Metal3MachineTemplate that the machine was made from.
func (r *Reconciler) observeDomains(ctx context.Context, s *scope) error {
	name, made := claims.TemplateOf(s.Machine.Annotations)
	soon := s.Facts || s.Claim.Binding
	if s.dataClaim != nil || !soon || s.Machine.Spec.DataTemplate == nil || !made {
		return nil
	}
	template, key := &infrav1.Metal3MachineTemplate{}, client.ObjectKey{Namespace: s.Machine.Namespace, Name: name}
	err := r.Client.Get(ctx, key, template)
	if apierrors.IsNotFound(err) {
		err = r.Live.Get(ctx, key, template)
	}
	if apierrors.IsNotFound(err) {
		s.Data.Unlisted = name
		return nil
	}
	s.Data.ByDomain = template.Spec.FailureDomainDataTemplates
	return s.failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataFailedReason,
		"The Metal3MachineTemplate of the machine cannot be read", err)
}

// observeName reads the secret that gives the server the name of its machine, if one is needed. As with
// rendered secrets, one that a user has put there is taken as it is, and one of another owner is waited for to go.
func (r *Reconciler) observeName(ctx context.Context, s *scope) error {
	if !needsName(s.Observed) {
		return nil
	}
	name, secret, key := &s.Name, &corev1.Secret{}, client.ObjectKey{Namespace: s.Machine.Namespace, Name: metadata.SecretName(s.Machine.Name)}
	err := r.Live.Get(ctx, key, secret)
	owner := metav1.GetControllerOfNoCopy(secret)
	switch {
	case apierrors.IsForbidden(err):
		name.Reason, name.Message = infrav1.SecretsForbiddenReason, hostclaims.Forbidden("get", s.Machine.Namespace)
	case err != nil:
		return s.failed(infrav1.Metal3DataReadyCondition, infrav1.WaitingForMetal3DataReason,
			fmt.Sprintf("Secret %q cannot be read", key.Name), client.IgnoreNotFound(err))
	case owner != nil && owner.UID != s.Machine.UID:
		name.Reason, name.Message = infrav1.SecretNameTakenReason, fmt.Sprintf(
			"Secret %q belongs to %s %q: it must be deleted first", secret.Name, owner.Kind, owner.Name)
	case len(secret.Data[secretkeys.MetaData]) == 0:
		name.Reason, name.Message = infrav1.SecretNameTakenReason, fmt.Sprintf(
			"Secret %q has no key %q: put one in, or delete the secret to have it written", secret.Name, secretkeys.MetaData)
	default:
		name.Exists = true
	}
	return nil
}

// observeNode watches the Nodes, and looks for that of a machine whose server runs. A workload cluster that
// cannot be reached is a fact: its connection wakes the machine. An error of that cluster must not keep the
// machine from reporting what is known of the server, so patchNode returns it.
func (r *Reconciler) observeNode(ctx context.Context, s *scope) error {
	query := s.nodeQuery()
	if query.ProviderID == "" {
		return nil
	}
	cluster := client.ObjectKeyFromObject(s.Cluster)
	err := r.Nodes.Watch(ctx, cluster, r.controller, r.nodeToMachines)
	var found []nodes.Node
	if err == nil {
		found, err = r.Nodes.Candidates(ctx, cluster, query)
	}
	if err == nil {
		s.Node = nodes.Match(query, found)
	} else if !errors.Is(err, workload.ErrNotConnected) {
		s.nodeErr = err
	}
	return nil
}

// nodeQuery is what is known about the Node. Its provider ID is empty while there is no point in looking.
func (s *scope) nodeQuery() nodes.Query {
	q := nodes.Query{ProviderID: s.Machine.Spec.ProviderID, HostUID: s.Host.UID}
	if s.Claim.Phase == claims.Provisioned {
		q.ProviderID = s.providerID()
	}
	// A bootstrap provider gives the Node its provider ID or the label with the UID of the host. Without one,
	// the host name is all there may be.
	if !s.Owner.Spec.Bootstrap.ConfigRef.IsDefined() {
		for _, address := range s.Machine.Status.Addresses {
			if address.Type == clusterv1.MachineHostName || address.Type == clusterv1.MachineInternalDNS {
				q.Hostnames = append(q.Hostnames, address.Address)
			}
		}
	}
	return q
}

// copySecrets brings the secrets that the server is to get next to a claim in another cluster. The claim does
// not name the copies before all of them are there, so that this is a fact of the plan as well.
func (r *Reconciler) copySecrets(ctx context.Context, s *scope) error {
	missing, err := s.claims.CopySecrets(ctx, s.hostClaim, Next(s.Observed).Copies, s.refuses)
	s.Uncopied = waiting(infrav1.Metal3DataReadyCondition, missing.Reason, missing.Message)
	return s.failed(infrav1.Metal3DataReadyCondition, infrav1.SecretNotCopiedReason, "The Secrets of the machine cannot be copied", err)
}
