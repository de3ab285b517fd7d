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

package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/cmd/kubectl-metal3/report"
)

// giveBack is the one command that writes. No manager could do it, since none may give a host to anything but a claim:
// it is done with the rights of an administrator of hosts and machines.
func (o *options) giveBack() *cobra.Command {
	dryRun := false
	cmd := o.command("give-back CLUSTER", "Give a paused cluster back to CAPM3, as it runs", cobra.ExactArgs(1), func(ctx context.Context, c clusters, args []string) (result, error) {
		if c.hosts != nil {
			return result{}, errors.New("CAPM3 needs machines and hosts in one namespace: leave --hosts-kubeconfig and --hosts-context out")
		}
		return c.own.giveBack(ctx, args[0], dryRun)
	})
	cmd.Long = "Make the Metal3Machines of a paused Cluster the consumers of their hosts again, as CAPM3 has it, and delete their HostClaims. " +
		"Nothing is done to a server. If one machine is refused, nothing is written. Repeat it if it was interrupted."
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Tell what would be given back, and write nothing")
	return cmd
}

// held is a machine with its host, and the claim that has that.
type held struct {
	machine *infrav1.Metal3Machine
	host    *bmov1alpha1.BareMetalHost
	// claim is nil once it is gone.
	claim *bmov1alpha1.HostClaim
	// away is a claim of the machine whose host is not that one.
	away *bmov1alpha1.HostClaim
	// remediated reports whether a Metal3Remediation acts on the machine.
	remediated bool
}

func (s side) giveBack(ctx context.Context, name string, dryRun bool) (result, error) {
	cluster := &clusterv1.Cluster{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, cluster); err != nil {
		return result{}, err
	}
	infrastructure := cluster.Spec.InfrastructureRef
	switch {
	case infrastructure.Kind != "Metal3Cluster":
		return result{}, fmt.Errorf("cluster %q has infrastructure %s, and CAPM3 needs a Metal3Cluster", name, infrastructure.Kind)
	case !ptr.Deref(cluster.Spec.Paused, false):
		return result{}, fmt.Errorf("cluster %q is not paused: set spec.paused to true, or its machines would lose their claims", name)
	}
	all, err := s.held(ctx, name)
	if err != nil {
		return result{}, err
	}
	rows := make([]map[string]string, 0, len(all))
	if !dryRun {
		asked := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: infrastructure.Name}}
		err = s.Patch(ctx, asked, without(infrav1.TakeOverAnnotation))
	}
	for _, h := range all {
		if err == nil && !dryRun {
			err = s.give(ctx, h)
		}
		if err == nil {
			rows = append(rows, map[string]string{"machine": h.machine.Name, "host": h.host.Name})
		}
	}
	return givenResult(rows, dryRun, err), nil
}

// givenResult lists the machines that were given back, also if it could not go on.
func givenResult(rows []map[string]string, dryRun bool, failure error) result {
	p := part{columns: columns("Machine", "Host")}
	for _, row := range rows {
		p.add(row["machine"], row["host"])
	}
	return result{kind: "GivenBack", content: map[string]any{"items": rows, "dryRun": dryRun}, parts: []part{p}, failure: failure}
}

// held reads what the machines of a cluster have, or why one of them cannot be given back.
func (s side) held(ctx context.Context, cluster string) ([]held, error) {
	var (
		machines infrav1.Metal3MachineList
		found    bmov1alpha1.HostClaimList
		hosts    bmov1alpha1.BareMetalHostList
		acts     infrav1.Metal3RemediationList
		in       = client.InNamespace(s.namespace)
	)
	err := errors.Join(s.List(ctx, &machines, in, client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}), s.List(ctx, &found, in),
		s.List(ctx, &hosts, in), s.List(ctx, &acts, in))
	if err != nil {
		return nil, err
	}
	all, given := make([]held, 0, len(machines.Items)), map[types.UID]bool{}
	for i := range machines.Items {
		h := holds(&machines.Items[i], hosts.Items, found.Items)
		h.remediated = slices.ContainsFunc(acts.Items, func(r infrav1.Metal3Remediation) bool { return report.Remediates(&r, h.machine) })
		for _, claim := range []*bmov1alpha1.HostClaim{h.claim, h.away} {
			if claim != nil {
				given[claim.UID] = true
			}
		}
		if reason := h.refused(); reason != nil {
			err = errors.Join(err, fmt.Errorf("Metal3Machine %q cannot be given back: %w", h.machine.Name, reason))
		}
		all = append(all, h)
	}
	for _, claim := range found.Items {
		ofMachine := slices.ContainsFunc(all, func(h held) bool { return claims.BelongsTo(&claim, claims.OwnerOf(h.machine)) })
		if !given[claim.UID] && (ofMachine || claim.Labels[clusterv1.ClusterNameLabel] == cluster) {
			err = errors.Join(err, fmt.Errorf("HostClaim %q has the host of none of the machines, and its own would stay with nobody: "+
				"unpause the Cluster, and delete the claim or wait until a machine has taken it", claim.Name))
		}
	}
	return all, err
}

// holds returns what a machine has: the host that its annotation names, if that names the machine or one of its claims.
func holds(m *infrav1.Metal3Machine, hosts []bmov1alpha1.BareMetalHost, found []bmov1alpha1.HostClaim) held {
	h, owner := held{machine: m}, claims.OwnerOf(m)
	if i := slices.IndexFunc(found, func(c bmov1alpha1.HostClaim) bool { return claims.BelongsTo(&c, owner) }); i >= 0 {
		h.away = &found[i]
	}
	for i := range hosts {
		host := &hosts[i]
		if m.Annotations[infrav1.HostAnnotation] != host.Namespace+"/"+host.Name {
			continue
		}
		for j := range found {
			claim := &found[j]
			ref := claim.Status.BareMetalHost
			empty := ref == nil || *ref == bmov1alpha1.ObjectReference{Namespace: host.Namespace, Name: host.Name}
			if claims.BelongsTo(claim, owner) && (binding.Has(claim, host) || givenBack(host, m) && empty) {
				h.claim, h.away = claim, nil
			}
		}
		if h.claim != nil || givenBack(host, m) {
			h.host = host
		}
	}
	return h
}

// givenBack reports whether a machine has a host as with CAPM3.
func givenBack(host *bmov1alpha1.BareMetalHost, m *infrav1.Metal3Machine) bool {
	return binding.OfMachine(host) && host.Spec.ConsumerRef.Name == m.Name
}

// refused returns why a machine cannot be given back.
func (h held) refused() error {
	switch {
	case !h.machine.DeletionTimestamp.IsZero():
		return errors.New("it is being deleted: wait until it is gone")
	case h.remediated:
		return errors.New("it is being remediated: wait until its Metal3Remediation is gone")
	case h.away != nil:
		host := ptr.Deref(h.away.Status.BareMetalHost, bmov1alpha1.ObjectReference{})
		return fmt.Errorf("its HostClaim %q has host %q of namespace %q, and CAPM3 takes only the one that annotation %s names, of the machine's namespace: "+
			"have the Machine replaced", h.away.Name, host.Name, host.Namespace, infrav1.HostAnnotation)
	case h.host == nil:
		return errors.New("it has no host in its namespace, where alone CAPM3 looks for one: delete the Machine, or wait until it has one")
	case !meta.IsStatusConditionTrue(h.machine.Status.Conditions, clusterv1.PausedCondition) && h.claim != nil:
		return errors.New("its condition Paused is not True yet: wait until the provider manager has seen the pause")
	case givenBack(h.host, h.machine):
		return nil // by a command that was interrupted
	default:
		return binding.CheckGiveBack(h.claim, h.host)
	}
}

// give makes the machine the consumer of its host, and then takes the claim away, which has nothing to release any more.
func (s side) give(ctx context.Context, h held) error {
	marks := []string{infrav1.TakeOverAnnotation}
	if h.machine.Annotations[infrav1.BlockMoveAnnotation] == infrav1.MachineFieldOwner {
		marks = append(marks, infrav1.BlockMoveAnnotation) // which nobody would take off
	}
	if err := s.Patch(ctx, h.machine, without(marks...)); err != nil {
		return fmt.Errorf("Metal3Machine %q: %w", h.machine.Name, err)
	}
	if !givenBack(h.host, h.machine) {
		given := binding.GivenBack(h.host, h.machine)
		if err := s.Patch(ctx, given, client.MergeFromWithOptions(h.host, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("BareMetalHost %q: %w", h.host.Name, err)
		}
	}
	if h.claim == nil {
		return nil
	}
	if err := s.end(ctx, h.claim); err != nil {
		return fmt.Errorf("HostClaim %q: %w", h.claim.Name, err)
	}
	return nil
}

// end deletes a claim without a host. A paused one would wait for its manager, and none can get the finalizer again.
func (s side) end(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	uid := claim.UID
	err := s.Delete(ctx, claim, client.Preconditions{UID: &uid})
	if err == nil {
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			if err := s.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil || claim.UID != uid {
				return err
			}
			before := claim.DeepCopy()
			controllerutil.RemoveFinalizer(claim, infrav1.HostClaimFinalizer)
			return s.Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		})
	}
	return client.IgnoreNotFound(err)
}

// without takes annotations off an object.
func without(keys ...string) client.Patch {
	nulls := make([]string, 0, len(keys))
	for _, key := range keys {
		nulls = append(nulls, fmt.Sprintf("%q: null", key))
	}
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {`+strings.Join(nulls, ", ")+`}}}`))
}
