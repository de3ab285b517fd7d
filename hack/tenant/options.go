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

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/onboard"
)

// source is a kubeconfig and a context in it; empty for the usual ones.
type source struct{ file, context string }

// options are those of the command line.
type options struct {
	hosts, management source
	seen              onboard.Seen
	tenant            grant.Tenant
	home              grant.Home
	dryRun            bool
}

// defaultExpiry is a month: long enough for a reminder, short enough for a theft.
const defaultExpiry = 30 * 24 * time.Hour

func parse(args []string) (options, error) {
	var o options
	var manager string
	fs := pflag.NewFlagSet("tenant", pflag.ContinueOnError)
	fs.StringVar(&o.tenant.Namespace, "namespace", "", "namespace of the tenant in the cluster with the hosts; created if it is missing")
	fs.StringVar(&o.hosts.file, "kubeconfig", "", "kubeconfig of an administrator of the cluster with the hosts (default as kubectl has it)")
	fs.StringVar(&o.hosts.context, "context", "", "context of --kubeconfig")
	fs.StringVar(&o.seen.Server, "server", "", "URL of that cluster's API server as the tenant's cluster sees it (default as in --kubeconfig)")
	fs.StringVar(&o.seen.CAFile, "certificate-authority", "", "file with the authorities of that server (default as in --kubeconfig)")
	fs.StringVar(&o.seen.ServerName, "tls-server-name", "", "name in the certificate of that server, if it is not that of the URL")
	fs.DurationVar(&o.tenant.Expiry, "expiry", defaultExpiry, "for how long the credential is good")
	fs.IntVar(&o.tenant.Servers, "servers", 0, "how many servers the tenant may claim, by a quota; 0 for any number")
	fs.BoolVar(&o.tenant.Resident, "resident", false,
		"the tenant's Clusters are in --namespace and go on from another cluster: what else is there is theirs, hosts and their BMC passwords included")
	fs.StringVar(&o.tenant.Account.Namespace, "account-namespace", grant.DefaultAccounts, "namespace of the tenant's service account; no tenant may work there")
	fs.StringVar(&o.tenant.Account.Name, "account", "", "name of the service account (default --namespace)")
	fs.StringVar(&manager, "hostclaim-manager", "hostclaim-system/hostclaim-manager", "service account of the hostclaim manager, as namespace/name")
	fs.StringVar(&o.management.file, "management-kubeconfig", "", "kubeconfig of the tenant's cluster, to apply the Secret there instead of printing it")
	fs.StringVar(&o.management.context, "management-context", "", "context of --management-kubeconfig")
	fs.StringVar(&o.home.Namespace, "management-namespace", "", "namespace of the Secret in the tenant's cluster (default --namespace)")
	fs.StringVar(&o.home.Secret, "secret", grant.DefaultSecret, "name of the Secret")
	fs.BoolVar(&o.dryRun, "dry-run", false, "print everything that would be created, and reach no cluster")
	if err := fs.Parse(args); err != nil {
		return options{}, err
	}
	return o.complete(fs, manager)
}

// complete fills what follows from other flags and checks the whole.
func (o options) complete(fs *pflag.FlagSet, manager string) (options, error) {
	if extra := fs.Args(); len(extra) > 0 {
		return options{}, fmt.Errorf("%q belongs to no flag: name the tenant's namespace by --namespace", extra[0])
	}
	if o.tenant.Namespace == "" {
		return options{}, errors.New("--namespace is missing: name the tenant's namespace in the cluster with the hosts")
	}
	if o.management.file == "" && o.management.context != "" {
		return options{}, errors.New("--management-context needs --management-kubeconfig")
	}
	if o.tenant.Account.Name == "" {
		o.tenant.Account.Name = o.tenant.Namespace
	}
	if o.home.Namespace == "" {
		o.home.Namespace = o.tenant.Namespace
	}
	namespace, name, found := strings.Cut(manager, "/")
	if !found || namespace == "" || name == "" {
		return options{}, fmt.Errorf("--hostclaim-manager is %q: write <namespace>/<name> of its service account", manager)
	}
	o.tenant.HostClaimManager = types.NamespacedName{Namespace: namespace, Name: name}
	return o, errors.Join(o.tenant.Check(), o.home.Check())
}
