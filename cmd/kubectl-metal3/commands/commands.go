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

// Package commands has the commands of kubectl metal3: they read objects with the caller's credentials,
// let package report judge them, and print what it returns. What may not be read is shown as such.
package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"github.com/metal3-io/cluster-api-provider-metal3/cmd/kubectl-metal3/report"
)

// options are the flags that all commands have.
type options struct {
	genericiooptions.IOStreams

	own, hosts    *genericclioptions.ConfigFlags
	allNamespaces bool
}

// New returns the command with all others below it.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{IOStreams: streams, own: genericclioptions.NewConfigFlags(true), hosts: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{
		Use:          "kubectl-metal3",
		Short:        "Show servers, claims and machines of Metal3, and what they wait for",
		SilenceUsage: true,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl metal3"},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	flags := root.PersistentFlags()
	o.own.AddFlags(flags)
	flags.StringVar(o.hosts.KubeConfig, "hosts-kubeconfig", "", "Kubeconfig of the cluster with the hosts, if it is another one")
	flags.StringVar(o.hosts.Context, "hosts-context", "", "Context of the cluster with the hosts, of --hosts-kubeconfig or else of --kubeconfig")
	root.AddCommand(o.pool(), o.claims(), o.machine(), o.why(), o.tree(), o.preflight(), o.giveBack())
	return root
}

// run is what a command does with the clusters and its arguments.
type run func(ctx context.Context, c clusters, args []string) (result, error)

// command returns a command that prints what it is told.
func (o *options) command(use, short string, args cobra.PositionalArgs, do run) *cobra.Command {
	format := &genericclioptions.PrintFlags{
		JSONYamlPrintFlags:   genericclioptions.NewJSONYamlPrintFlags(),
		TemplatePrinterFlags: genericclioptions.NewKubeTemplatePrintFlags(),
		OutputFormat:         ptr.To(""),
	}
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := o.connect()
		if err != nil {
			return err
		}
		r, err := do(cmd.Context(), c, args)
		if err != nil {
			return err
		}
		return errors.Join(r.print(o.IOStreams, format), r.failure)
	}
	format.AddFlags(cmd)
	cmd.Flag("output").Usage = fmt.Sprintf("Output format. One of: (wide, %s).", strings.Join(format.AllowedFormats(), ", "))
	return cmd
}

func (o *options) pool() *cobra.Command {
	by := "state"
	cmd := o.command("pool", "Count the hosts by state, or by tenant, or list them", cobra.NoArgs, func(ctx context.Context, c clusters, _ []string) (result, error) {
		var hosts bmov1alpha1.BareMetalHostList
		unread := c.servers().list(ctx, &hosts, "BareMetalHost", o.allNamespaces)
		rows := report.Hosts(hosts.Items)
		switch by {
		case "state":
			rows = report.ByState(rows)
		case "tenant":
			rows = report.ByTenant(rows)
		case "host":
		default:
			return result{}, fmt.Errorf("--by %s: use state, tenant or host", by)
		}
		return poolResult(by, rows, unread), nil
	})
	cmd.Flags().StringVar(&by, "by", by, "What to show: state, tenant or host")
	o.addAllNamespaces(cmd)
	return cmd
}

func (o *options) claims() *cobra.Command {
	waiting := false
	cmd := o.command("claims", "List HostClaims with what they wait for", cobra.NoArgs, func(ctx context.Context, c clusters, _ []string) (result, error) {
		var found bmov1alpha1.HostClaimList
		unread := c.servers().list(ctx, &found, "HostClaim", o.allNamespaces)
		rows := report.Claims(found.Items)
		if waiting {
			rows = report.Waiting(rows)
		}
		return claimsResult(rows, unread), nil
	})
	cmd.Flags().BoolVar(&waiting, "waiting", false, "List only claims that are not ready")
	o.addAllNamespaces(cmd)
	return cmd
}

func (o *options) addAllNamespaces(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Look into all namespaces")
}

func (o *options) machine() *cobra.Command {
	return o.command("machine NAME", "Show when a Machine reached each station on its way to a Node", cobra.ExactArgs(1), func(ctx context.Context, c clusters, args []string) (result, error) {
		objects, err := c.from(ctx, "machine", args[0])
		if err != nil {
			return result{}, err
		}
		return machineResult(report.Stations(objects), report.Why(objects)), nil
	})
}

func (o *options) why() *cobra.Command {
	cmd := o.command("why KIND/NAME", "Tell what an object waits for", cobra.RangeArgs(1, 2), func(ctx context.Context, c clusters, args []string) (result, error) {
		kind, name, found := strings.Cut(strings.Join(args, "/"), "/")
		if !found || name == "" {
			return result{}, fmt.Errorf("%s: write KIND/NAME, such as machine/demo-0", args[0])
		}
		if kindOf(kind) == "cluster" {
			root, machines, err := c.cluster(ctx, name)
			return whyResult(report.WhyCluster(root, machines)), err
		}
		objects, err := c.from(ctx, kindOf(kind), name)
		return whyResult([]report.Answer{report.Why(objects)}), err
	})
	cmd.Long = "Tell what a Cluster, Machine, Metal3Machine, HostClaim or BareMetalHost waits for: follow its way to the server to the object that is the cause."
	return cmd
}

func (o *options) tree() *cobra.Command {
	return o.command("tree CLUSTER", "Show the objects between a Cluster and its servers", cobra.ExactArgs(1), func(ctx context.Context, c clusters, args []string) (result, error) {
		root, _, err := c.cluster(ctx, args[0])
		return treeResult(root), err
	})
}

func (o *options) preflight() *cobra.Command {
	cmd := o.command("preflight [CLUSTER]", "Tell what becomes of clusters of CAPM3 here", cobra.MaximumNArgs(1), func(ctx context.Context, c clusters, args []string) (result, error) {
		namespaces, unread, err := c.preflight(ctx, strings.Join(args, ""), o.allNamespaces)
		return preflightResult(namespaces, unread), err
	})
	cmd.Long = "Tell which machines of the clusters of CAPM3 in a namespace would be taken over, which not and why, and which of their fields mean something else here. " +
		"It fails if one is refused, or if something cannot be read. Nothing is written."
	o.addAllNamespaces(cmd)
	return cmd
}

// kindOf returns the name of a kind as kubectl takes it, in the singular.
func kindOf(kind string) string {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
	switch kind = strings.TrimSuffix(kind, "s"); kind {
	case "m3m":
		return "metal3machine"
	case "hc":
		return "hostclaim"
	case "bmh", "host":
		return "baremetalhost"
	case "cl":
		return "cluster"
	case "ma":
		return "machine"
	}
	return kind
}
