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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
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

// held is a machine with its claim and host.
type held struct {
	machine *infrav1.Metal3Machine
	claim   *bmov1alpha1.HostClaim
	host    *bmov1alpha1.BareMetalHost
}

func (s side) giveBack(ctx context.Context, name string, dryRun bool) (result, error) {
	cluster, machines := &clusterv1.Cluster{}, &infrav1.Metal3MachineList{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, cluster); err != nil {
		return result{}, err
	}
	if !ptr.Deref(cluster.Spec.Paused, false) {
		return result{}, fmt.Errorf("cluster %q is not paused: set spec.paused to true, or its machines would lose their claims", name)
	}
	if err := s.List(ctx, machines, client.InNamespace(s.namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name}); err != nil {
		return result{}, err
	}
	all, refusals, err := s.held(ctx, machines.Items)
	if err != nil || len(refusals) > 0 {
		return result{}, errors.Join(append(refusals, err)...)
	}
	p := part{columns: columns("Machine", "Host")}
	rows := []map[string]string{}
	for _, h := range all {
		p.add(h.machine.Name, h.host.Name)
		rows = append(rows, map[string]string{"machine": h.machine.Name, "host": h.host.Name})
		if !dryRun {
			err = errors.Join(err, s.give(ctx, h))
		}
	}
	if !dryRun && err == nil {
		infrastructure := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: cluster.Spec.InfrastructureRef.Name}}
		err = s.Patch(ctx, infrastructure, unmarked())
	}
	return result{kind: "GivenBack", content: map[string]any{"items": rows, "dryRun": dryRun}, parts: []part{p}}, err
}

// held reads what the machines have, and why one of them cannot be given back.
func (s side) held(ctx context.Context, machines []infrav1.Metal3Machine) (all []held, refusals []error, err error) {
	var claimed bmov1alpha1.HostClaimList
	var hosts bmov1alpha1.BareMetalHostList
	if err := errors.Join(s.List(ctx, &claimed, client.InNamespace(s.namespace)), s.List(ctx, &hosts, client.InNamespace(s.namespace))); err != nil {
		return nil, nil, err
	}
	for i := range machines {
		m := &machines[i]
		h := held{machine: m}
		of := claims.OwnerOf(m)
		if found := slices.IndexFunc(claimed.Items, func(c bmov1alpha1.HostClaim) bool { return claims.BelongsTo(&c, of) }); found >= 0 {
			h.claim = &claimed.Items[found]
		}
		given := slices.IndexFunc(hosts.Items, func(b bmov1alpha1.BareMetalHost) bool {
			return binding.OfMachine(&b) && b.Spec.ConsumerRef.Name == m.Name || h.claim != nil && binding.Has(h.claim, &b)
		})
		if given >= 0 {
			h.host = &hosts.Items[given]
		}
		if reason := h.refused(); reason != nil {
			refusals = append(refusals, fmt.Errorf("Metal3Machine %q cannot be given back: %w", m.Name, reason))
		}
		all = append(all, h)
	}
	return all, refusals, nil
}

// refused returns why a machine cannot be given back.
func (h held) refused() error {
	switch {
	case !h.machine.DeletionTimestamp.IsZero():
		return errors.New("it is being deleted: wait until it is gone")
	case h.host == nil && h.claim != nil && h.claim.Status.BareMetalHost != nil && h.claim.Status.BareMetalHost.Namespace != h.machine.Namespace:
		return fmt.Errorf("its host is in namespace %q, and CAPM3 takes hosts of the machine's namespace only: delete the Machine first",
			h.claim.Status.BareMetalHost.Namespace)
	case h.host == nil:
		return errors.New("it has no host in its namespace: delete the Machine, or wait until it has one")
	case binding.OfMachine(h.host):
		return nil // given back by a command that was interrupted
	default:
		return binding.CheckGiveBack(h.claim, h.host)
	}
}

// give makes the machine the consumer of its host, and then takes the claim away, which has nothing to release any more.
func (s side) give(ctx context.Context, h held) error {
	if !binding.OfMachine(h.host) {
		given := binding.GivenBack(h.host, h.machine)
		if err := s.Patch(ctx, given, client.MergeFromWithOptions(h.host, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("BareMetalHost %q: %w", h.host.Name, err)
		}
	}
	if h.claim != nil {
		err := s.Delete(ctx, h.claim)
		if err == nil { // a paused claim waits, and none can get a finalizer any more
			err = s.Patch(ctx, h.claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`)))
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("HostClaim %q: %w", h.claim.Name, err)
		}
	}
	return s.Patch(ctx, h.machine, unmarked())
}

// unmarked takes off what asks for a cluster or a machine to be taken over.
func unmarked() client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"`+infrav1.TakeOverAnnotation+`": null}}}`))
}
