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

package setup

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
)

// Options are the options of the provider manager.
type Options struct {
	manager.Options

	// Workload limits the requests to each workload cluster.
	Workload manager.Rate
	// WorkloadDenied are the addresses that no kubeconfig of a workload cluster may lead
	// to, as parseAddresses reads them.
	WorkloadDenied string
	// WorkloadConnections bounds the connections to the workload clusters of one namespace.
	WorkloadConnections int
	// ReadRate bounds what is read of the workload clusters and identityRefs of one
	// namespace, in MiB per second.
	ReadRate int64
	// IdentityDenied are the addresses that no identityRef may lead to, as
	// parseAddresses reads them.
	IdentityDenied string
	// IdentityConnections bounds the connections for the identityRefs of one namespace.
	IdentityConnections int
	// IdentityConnectionMemory and IdentityMemory bound what one connection of an
	// identityRef holds in memory, and what all do, in MiB.
	IdentityConnectionMemory, IdentityMemory int64
	// ClaimsByHostName names claims on address pools after the host instead of
	// the Metal3Data.
	ClaimsByHostName bool
	// NodeReuseTimeout is how long the server of a machine that is replaced is kept for the
	// next machine, where the template asks for that.
	NodeReuseTimeout time.Duration
	// RuntimeExtensionPort is where Cluster API's hooks for updates in place are served, with
	// the certificate of the webhooks; 0 means that none are served.
	RuntimeExtensionPort int
	// FastTrack is what CAPM3 takes for all hosts from its environment. It is refused.
	FastTrack bool
	// SkipCRDMigrationPhases are the phases in which objects are not migrated to the storage version of their CRD.
	SkipCRDMigrationPhases []string
	// Concurrency is how many objects of a kind are reconciled at a time.
	Concurrency Concurrency
}

// Concurrency is the number of workers of each controller.
type Concurrency struct {
	// The fields are named for the controllers.
	Cluster, Machine, MachineTemplate, DataTemplate, Data, Remediation, ClusterCache int
}

// NewOptions returns options without values; AddFlags gives them their defaults.
func NewOptions() Options {
	return Options{Options: manager.NewOptions()}
}

// AddFlags adds the flags of the manager to the set; their defaults become
// those of the options.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs)
	fs.BoolVar(&o.ClaimsByHostName, "enable-bmh-name-based-preallocation", false,
		"Name claims on IPPools <host>-<pool>, so that a pool can hold an address for a host in advance.")
	fs.Float32Var(&o.Workload.QPS, "clustercache-client-qps", 20, "Requests per second to each workload cluster.")
	fs.IntVar(&o.Workload.Burst, "clustercache-client-burst", 30, "Requests at once to each workload cluster.")
	fs.StringVar(&o.WorkloadDenied, "workload-denied-addresses", "local",
		"Addresses that no kubeconfig of a workload cluster may lead to, in the form of --identity-denied-addresses; none if empty.")
	fs.IntVar(&o.WorkloadConnections, "workload-connections-per-namespace", 100,
		"How many workload clusters of one namespace are connected to. The machines of others do not get to know their Nodes.")
	fs.Int64Var(&o.ReadRate, "read-rate-per-namespace", 2,
		"MiB per second that are read of the API servers of one namespace, those of its workload clusters and of its identityRefs together, "+
			"and those of 32 seconds at once. An object counts for more than its bytes.")
	fs.StringVar(&o.IdentityDenied, "identity-denied-addresses", "local,services",
		"Addresses that no identityRef may lead to, separated by commas: prefixes such as 10.0.0.0/8, "+
			"local for this host, its own addresses, loopback and link-local, or services for the ServiceCIDRs of this cluster; none if empty.")
	fs.IntVar(&o.IdentityConnections, "identity-connections-per-namespace", 10,
		"How many connections to other clusters the identityRefs of one namespace may have. References that come to the same credentials share one.")
	fs.Int64Var(&o.IdentityConnectionMemory, "identity-connection-memory", 64,
		"MiB of memory that one connection of an identityRef may hold of the other cluster's objects.")
	fs.Int64Var(&o.IdentityMemory, "identity-memory", 256, "MiB of memory that all connections of identityRefs may hold together.")
	fs.DurationVar(&o.NodeReuseTimeout, "node-reuse-timeout", time.Hour,
		"How long the server of a machine that is replaced is kept for the next machine, where nodeReuse of the template asks for that.")
	fs.IntVar(&o.RuntimeExtensionPort, "runtime-extension-port", 0,
		"Port of the runtime extension by which Cluster API updates machines in place, with the certificate of the webhooks; 0 for none.")
	fs.StringSliceVar(&o.SkipCRDMigrationPhases, "skip-crd-migration-phases", nil,
		"Phases of the migration of stored objects that are left out: All, StorageVersionMigration or CleanupManagedFields.")
	fs.BoolVar(&o.FastTrack, "fast-track", false, "CAPM3_FAST_TRACK of CAPM3. True is refused: the hosts that stay on are annotated.")
	o.Concurrency.addFlags(fs)
	addFormerFlags(fs)
}

// addFormerFlags adds the flags of CAPM3 that are accepted with a warning, since nothing here needs them.
func addFormerFlags(fs *pflag.FlagSet) {
	const labelSync = "metal3labelsync-concurrency"
	fs.Int(labelSync, 0, "Without effect.")
	_ = fs.MarkDeprecated(labelSync, "it has no effect here, labels are synchronized with the Metal3Machine: remove it") // fails for unknown flags only
}

func (c *Concurrency) addFlags(fs *pflag.FlagSet) {
	for _, f := range []struct {
		kind  string
		value *int
	}{
		{"metal3cluster", &c.Cluster},
		{"metal3machine", &c.Machine},
		{"metal3machinetemplate", &c.MachineTemplate},
		{"metal3datatemplate", &c.DataTemplate},
		{"metal3data", &c.Data},
		{"metal3remediation", &c.Remediation},
		{"clustercache", &c.ClusterCache},
	} {
		fs.IntVar(f.value, f.kind+"-concurrency", 10, fmt.Sprintf("How many objects the controller %s works on at a time.", f.kind))
	}
}

// Validate returns all that is wrong with the options.
func (o Options) Validate() error {
	c := o.Concurrency
	_, denied := parseAddresses(o.IdentityDenied)
	_, workload := parseAddresses(o.WorkloadDenied)
	_, phases := o.skippedPhases()
	return errors.Join(o.Options.Validate(), phases,
		manager.Check(workload == nil, "--workload-denied-addresses: %v", workload),
		manager.Check(denied == nil, "--identity-denied-addresses: %v", denied),
		manager.Check(o.RuntimeExtensionPort >= 0 && o.RuntimeExtensionPort <= 65535, "--runtime-extension-port=%d is no port", o.RuntimeExtensionPort),
		manager.Check(o.RuntimeExtensionPort == 0 || (o.RuntimeExtensionPort != o.WebhookPort && o.WebhookCertDir != ""),
			"--runtime-extension-port needs a port of its own, and --webhook-cert-dir"),
		manager.Check(!o.FastTrack, "--fast-track (CAPM3_FAST_TRACK) is set for each host here: remove it, and annotate the hosts that "+
			"stay on in the pool with %s=true", infrav1.FastTrackAnnotation),
		manager.Check(o.NodeReuseTimeout > 0, "--node-reuse-timeout must be positive"),
		manager.Check(o.WorkloadConnections > 0, "--workload-connections-per-namespace must be at least 1"),
		manager.Check(o.ReadRate > 0, "--read-rate-per-namespace must be at least 1"),
		manager.Check(o.IdentityConnections > 0, "--identity-connections-per-namespace must be at least 1"),
		manager.Check(o.IdentityConnectionMemory > 0 && o.IdentityMemory >= o.IdentityConnectionMemory,
			"--identity-connection-memory must be positive, and no more than --identity-memory"),
		manager.Check(o.Workload.QPS > 0 && o.Workload.Burst > 0, "--clustercache-client-qps and --clustercache-client-burst must be positive"),
		manager.Check(min(c.Cluster, c.Machine, c.MachineTemplate, c.DataTemplate, c.Data, c.Remediation, c.ClusterCache) > 0, "every --*-concurrency must be at least 1"),
	)
}
