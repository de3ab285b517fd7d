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

// Command tenant lets the management cluster of a tenant use the hosts of another
// cluster, by an identityRef.
//
// In the cluster with the hosts it creates a namespace for the tenant's claims and
// an account that may do there what the provider manager has to do, and nothing
// else. For the tenant's cluster it prints, or applies, a Secret with a kubeconfig
// of that account. Running it again renews the credential. It changes no policy:
// which hosts the namespace may have, a HostDeployPolicy says.
//
// "tenant keep" lets a paused Cluster go on by its identityRef while its HostClaims stay where they are.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/keep"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/onboard"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Libraries might quote requests; errors come back as such.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctrl.SetLogger(klog.Background())
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenant:", err)
		stop()
		os.Exit(1)
	}
}

// run is main without the process around it. Manifests go to out, words to notes.
func run(ctx context.Context, args []string, out, notes io.Writer) error {
	if len(args) > 0 && args[0] == "keep" {
		return runKeep(ctx, args[1:], notes)
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	config, err := load(o.hosts)
	if err != nil {
		return fmt.Errorf("kubeconfig of the cluster with the hosts, see --kubeconfig: %w", err)
	}
	plan := onboard.Plan{Tenant: o.tenant, Home: o.home}
	if plan.Access, err = onboard.AccessOf(config, o.seen); err != nil {
		return err
	}
	if hint := plan.Access.Hint(); hint != "" {
		fmt.Fprintln(notes, "Note:", hint)
	}
	if o.dryRun {
		return preview(plan, out)
	}
	return o.grantAccess(ctx, plan, config, out, notes)
}

// runKeep lets the claims of a paused Cluster stay where they are when the Cluster is moved.
func runKeep(ctx context.Context, args []string, notes io.Writer) error {
	var management source
	var cluster types.NamespacedName
	fs := pflag.NewFlagSet("tenant keep", pflag.ContinueOnError)
	fs.StringVar(&management.file, "management-kubeconfig", "", "kubeconfig of the cluster with the paused Cluster (default as kubectl has it)")
	fs.StringVar(&management.context, "management-context", "", "context of --management-kubeconfig")
	fs.StringVar(&cluster.Namespace, "namespace", "", "namespace of the Cluster")
	fs.StringVar(&cluster.Name, "cluster", "", "name of the Cluster, which must be paused")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if len(fs.Args()) > 0 || cluster.Namespace == "" || cluster.Name == "" {
		return errors.New("name the Cluster by --namespace and --cluster, and nothing else")
	}
	config, err := load(management)
	if err != nil {
		return fmt.Errorf("kubeconfig of the management cluster, see --management-kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme), bmov1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("reach the management cluster at %s, see --management-kubeconfig: %w", config.Host, err)
	}
	return keep.Run(ctx, c, cluster, notes)
}

// grantAccess carries out the plan and prints what was done.
func (o options) grantAccess(ctx context.Context, plan onboard.Plan, config *rest.Config, out, notes io.Writer) error {
	hosts, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("reach the cluster with the hosts at %s, see --kubeconfig: %w", config.Host, err)
	}
	management, applied, err := o.connectManagement()
	if err != nil {
		return err
	}
	result, err := onboard.Run(ctx, plan, hosts, management)
	if err != nil {
		return err
	}
	if !applied {
		if err := printObjects(out, result.Secret); err != nil {
			return err
		}
	}
	report(notes, plan, result, applied)
	return nil
}

// connectManagement returns a client of the tenant's cluster, if the Secret is to be
// applied there.
func (o options) connectManagement() (c client.Client, wanted bool, err error) {
	if o.management.file == "" {
		return nil, false, nil
	}
	config, err := load(o.management)
	if err != nil {
		return nil, true, fmt.Errorf("kubeconfig of the tenant's cluster, see --management-kubeconfig: %w", err)
	}
	if c, err = client.New(config, client.Options{}); err != nil {
		return nil, true, fmt.Errorf("reach the tenant's cluster at %s, see --management-kubeconfig: %w", config.Host, err)
	}
	return c, true, nil
}

// report prints what the tenant has now and what is left to do.
func report(notes io.Writer, plan onboard.Plan, result onboard.Result, applied bool) {
	where := "Apply the Secret in the tenant's cluster"
	if applied {
		where = fmt.Sprintf("Secret %s/%s is in the tenant's cluster", plan.Home.Namespace, plan.Home.Secret)
	}
	fmt.Fprintf(notes, "Namespace %s and account %s are ready. %s; its token is good until %s.\n",
		plan.Tenant.Namespace, plan.Tenant.Account, where, result.Expires.UTC().Format(time.RFC3339))
	if result.Shortened {
		fmt.Fprintf(notes, "Note: the API server issues no token for as long as %s, see its --service-account-max-token-expiration.\n", plan.Tenant.Expiry)
	}
	fmt.Fprintf(notes, "Clusters there use it by identityRef: {name: %s}. Which hosts namespace %s may have, a HostDeployPolicy says.\n",
		plan.Home.Secret, plan.Tenant.Namespace)
}

// preview prints what would be created, with a word in the place of the token.
func preview(plan onboard.Plan, out io.Writer) error {
	secret, err := plan.Tenant.Secret(plan.Home, plan.Access, grant.Token{Value: "(issued when this is not a dry run)", Expires: time.Now().Add(plan.Tenant.Expiry)})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "# In the cluster with the hosts")
	if err := printObjects(out, append(plan.Tenant.Namespaces(), plan.Tenant.Objects()...)...); err != nil {
		return err
	}
	fmt.Fprintln(out, "---\n# In the tenant's cluster")
	return printObjects(out, secret)
}

func printObjects(out io.Writer, objects ...client.Object) error {
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("print %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
		fmt.Fprintf(out, "---\n%s", text)
	}
	return nil
}

// load reads a kubeconfig as kubectl does.
func load(from source) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = from.file
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: from.context}).ClientConfig()
}
