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

// Package keep lets a Cluster go on from another management cluster while its HostClaims stay where they are:
// each machine reaches its claim by the identityRef from then on, and owns it no longer.
//
//	paused Cluster ──▶ both ways lead to one claim, by UID ──▶ record on the machine ──▶ claim handed over
//
// Both writes are locked on what was read. A command that was interrupted is run again.
package keep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
)

// handover is a machine whose claim is to be handed over.
type handover struct {
	machine *infrav1.Metal3Machine
	owner   claims.Owner
	claim   *bmov1alpha1.HostClaim
	record  identity.Record
	// recorded means that an earlier run has written the record.
	recorded bool
}

// Run hands the claims of all machines of a paused Cluster over to their identityRefs. It writes nothing
// unless that is possible for all of them.
func Run(ctx context.Context, management client.Client, cluster types.NamespacedName, notes io.Writer) error {
	infra, err := readPaused(ctx, management, cluster)
	if err != nil {
		return err
	}
	var machines infrav1.Metal3MachineList
	of := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
	if err := management.List(ctx, &machines, client.InNamespace(cluster.Namespace), of); err != nil {
		return fmt.Errorf("list the Metal3Machines of Cluster %s: %w", cluster, err)
	}
	var all []handover
	var errs []error
	for i := range machines.Items {
		h, found, err := check(ctx, management, infra, &machines.Items[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("machine %s: %w", machines.Items[i].Name, err))
		} else if found {
			all = append(all, h)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	for _, h := range all {
		if err := h.write(ctx, management); err != nil {
			return fmt.Errorf("machine %s, run the command again: %w", h.machine.Name, err)
		}
		fmt.Fprintf(notes, "HostClaim %s/%s stays, and Metal3Machine %s reaches it by Secret %s\n",
			h.claim.Namespace, h.claim.Name, h.machine.Name, h.record.Secret)
	}
	return nil
}

// readPaused reads the Metal3Cluster of a Cluster that is paused, so that no controller writes machines and
// claims meanwhile. It is empty for infrastructure of another kind.
func readPaused(ctx context.Context, management client.Client, key types.NamespacedName) (*infrav1.Metal3Cluster, error) {
	cluster, infra := &clusterv1.Cluster{}, &infrav1.Metal3Cluster{}
	if err := management.Get(ctx, key, cluster); err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	}
	if !ptr.Deref(cluster.Spec.Paused, false) {
		return nil, fmt.Errorf("the Cluster is not paused: set spec.paused of Cluster %s to true, and wait until its Metal3Machines say Paused", key)
	}
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupName || ref.Kind != "Metal3Cluster" {
		return infra, nil
	}
	if err := management.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: ref.Name}, infra); err != nil {
		return nil, fmt.Errorf("read Metal3Cluster %s: %w", ref.Name, err)
	}
	return infra, nil
}

// check reads the claim of a machine on both ways. It is not found for a machine whose claim is not in its
// own namespace, or handed over already.
func check(ctx context.Context, management client.Client, infra *infrav1.Metal3Cluster, m *infrav1.Metal3Machine) (_ handover, found bool, err error) {
	h := handover{machine: m, owner: claims.OwnerOf(m)}
	record, recorded, problem := identity.Read(h.owner, m.Annotations)
	switch {
	case problem != nil:
		return h, false, problem
	case recorded && record.Claim == "":
		return h, false, nil // made in another cluster
	}
	if h.claim, err = ownClaim(ctx, management, h.owner); err != nil {
		return h, false, err
	}
	switch {
	case h.claim == nil && recorded:
		return h, false, nil
	case h.claim == nil:
		return h, false, errors.New("it has no HostClaim in its namespace: wait until its server runs, or delete the Machine")
	case recorded:
		h.record, h.recorded = record, true
		return h, true, nil
	}
	asked := cmp.Or(m.Spec.IdentityRef, infra.Spec.IdentityRef)
	if asked == nil {
		return h, false, errors.New("neither it nor its Metal3Cluster has an identityRef: set spec.identityRef of the Metal3Cluster")
	}
	ref := identity.Of(m.Namespace, asked)
	target, seen, err := lookThrough(ctx, management, ref, h.claim.Name)
	if err != nil {
		return h, false, err
	}
	if err := keepable(h.claim, ref, target, seen); err != nil {
		return h, false, err
	}
	h.record = identity.NewRecord(h.owner, ref, target, string(uuid.NewUUID()))
	h.record.Claim = h.claim.Name
	return h, true, nil
}

// ownClaim returns the HostClaim of a machine in its own namespace; nil if there is none.
func ownClaim(ctx context.Context, management client.Client, owner claims.Owner) (*bmov1alpha1.HostClaim, error) {
	var list bmov1alpha1.HostClaimList
	if err := management.List(ctx, &list, client.InNamespace(owner.Namespace)); err != nil {
		return nil, fmt.Errorf("list HostClaims: %w", err)
	}
	for i := range list.Items {
		if claims.BelongsTo(&list.Items[i], owner) {
			return &list.Items[i], nil
		}
	}
	return nil, nil //nolint:nilnil // None is a fact.
}

// keepable returns nil if the machine may go on with credentials that lead to the target, where the claim of
// that name has the UID that was seen. Equal UIDs prove that both ways lead to one object.
func keepable(claim *bmov1alpha1.HostClaim, ref identity.Ref, target identity.Target, seen types.UID) error {
	state := claims.Read(claim)
	switch {
	case target.Namespace != claim.Namespace:
		return fmt.Errorf("secret %q leads to namespace %q, and the HostClaim is in %q: "+
			"put a kubeconfig there whose context names the namespace of the HostClaim", ref.Secret, target.Namespace, claim.Namespace)
	case seen != claim.UID:
		return fmt.Errorf("secret %q leads to %s, where HostClaim %q of this machine is not: "+
			"put a kubeconfig there that leads to this very cluster", ref.Secret, target.Place(), claim.Name)
	case state.Deleting, state.Phase != claims.Provisioned:
		return fmt.Errorf("the server of HostClaim %q does not run what the claim asks for yet: "+
			"unpause the Cluster, wait until the machine is provisioned, and begin again", claim.Name)
	}
	return nil
}

// lookThrough reads which claim of that name the credentials lead to; its UID is empty if they lead to none.
func lookThrough(ctx context.Context, management client.Client, ref identity.Ref, name string) (target identity.Target, seen types.UID, err error) {
	secret := &corev1.Secret{}
	if err := management.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Secret}, secret); err != nil {
		return target, "", fmt.Errorf("read Secret %s of the identityRef: %w", ref.Secret, err)
	}
	file, err := kubeconfig.Parse(secret.Data["kubeconfig"])
	if err != nil {
		return target, "", fmt.Errorf("kubeconfig in Secret %s: %w", ref.Secret, err)
	}
	access, err := file.Current()
	if ref.Context != "" {
		access, err = file.Resolve(ref.Context)
	}
	if err != nil {
		return target, "", fmt.Errorf("kubeconfig in Secret %s: %w", ref.Secret, err)
	}
	there, err := client.New(&rest.Config{
		Host: access.Server, BearerToken: access.Token, Username: access.Username, Password: access.Password,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: access.TLSServerName, CAData: access.CA, CertData: access.ClientCertificate, KeyData: access.ClientKey,
		},
	}, client.Options{Scheme: management.Scheme()})
	if err != nil {
		return target, "", fmt.Errorf("reach %s, which Secret %s leads to: %w", access.Server, ref.Secret, err)
	}
	claim := &bmov1alpha1.HostClaim{}
	err = there.Get(ctx, client.ObjectKey{Namespace: access.Namespace, Name: name}, claim)
	if client.IgnoreNotFound(err) != nil && !apierrors.IsForbidden(err) {
		return target, "", fmt.Errorf("read HostClaim %s at %s, which Secret %s leads to: %w", name, access.Server, ref.Secret, err)
	}
	return access.Target(), claim.UID, nil
}

// write records where the claim is, then hands it over. Until the machine has copied its secrets next to the
// claim, which it does once its Cluster is unpaused, clusterctl does not move it.
func (h handover) write(ctx context.Context, management client.Client) error {
	if !h.recorded {
		before := h.machine.DeepCopy()
		if h.machine.Annotations == nil {
			h.machine.Annotations = map[string]string{}
		}
		maps.Copy(h.machine.Annotations, h.record.Annotations())
		if _, blocked := h.machine.Annotations[infrav1.BlockMoveAnnotation]; !blocked {
			h.machine.Annotations[infrav1.BlockMoveAnnotation] = infrav1.MachineFieldOwner
		}
		if err := management.Patch(ctx, h.machine, locked(before)); err != nil {
			return fmt.Errorf("record where its HostClaim is: %w", err)
		}
	}
	if err := management.Patch(ctx, claims.HandedOver(h.claim, h.owner, h.record.Origin), locked(h.claim)); err != nil {
		return fmt.Errorf("hand over HostClaim %s: %w", h.claim.Name, err)
	}
	return nil
}

func locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}
