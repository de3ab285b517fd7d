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
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"sigs.k8s.io/cluster-api/util/flags"
)

// Options are the options of the provider manager.
type Options struct {
	// Version asks for the version to be printed, and nothing else to be done.
	Version bool
	// Namespace restricts the manager to one namespace; empty means all.
	Namespace string
	// WatchFilter restricts the manager to objects with this value of the label
	// cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string
	// LeaderElection says that of several managers only one works at a time.
	LeaderElection LeaderElection
	// API limits the requests to the management cluster.
	API Rate
	// Workload limits the requests to each workload cluster.
	Workload Rate
	// SyncPeriod is how often everything is looked at without a reason.
	SyncPeriod time.Duration
	// WebhookPort is where webhooks are served; 0 means nowhere.
	WebhookPort int
	// WebhookCertDir holds tls.crt and tls.key of the webhooks.
	WebhookCertDir string
	// HealthAddress is where probes are answered; 0 means nowhere.
	HealthAddress string
	// Serving are the options for TLS and diagnostics.
	Serving flags.ManagerOptions
	// ClaimsByHostName names claims on address pools after the host instead of
	// the Metal3Data.
	ClaimsByHostName bool
	// Concurrency is how many objects of a kind are reconciled at a time.
	Concurrency Concurrency
	// Logging are the options for logs.
	Logging *logsv1.LoggingConfiguration
}

// LeaderElection are the options for leader election.
type LeaderElection struct {
	// Enabled says whether there is any.
	Enabled bool
	// Namespace of the lease; empty means that of the manager's Pod.
	Namespace string
	// LeaseDuration, RenewDeadline and RetryPeriod are its timing.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Rate limits requests to one API server.
type Rate struct {
	// QPS is the sustained number of requests per second.
	QPS float32
	// Burst is the number of requests at once.
	Burst int
}

// Concurrency is the number of workers of each controller.
type Concurrency struct {
	// The fields are named for the controllers.
	Cluster, Machine, DataTemplate, Data, ClusterCache int
}

// NewOptions returns the defaults.
func NewOptions() Options {
	return Options{Logging: logs.NewOptions()}
}

// AddFlags adds the flags of the manager to the set; their defaults become
// those of the options.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Version, "version", false, "Print the version and exit.")
	fs.StringVar(&o.Namespace, "namespace", "",
		"Namespace to watch; all namespaces if empty.")
	fs.StringVar(&o.WatchFilter, "watch-filter", "",
		"Value of the label cluster.x-k8s.io/watch-filter of the objects to reconcile; all objects if empty.")
	fs.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Hour,
		"How often all objects are reconciled without a reason. Everything that matters is watched.")
	fs.StringVar(&o.HealthAddress, "health-addr", ":9440", "Address of /healthz and /readyz; 0 for none.")
	fs.IntVar(&o.WebhookPort, "webhook-port", 9443, "Port of the webhooks; 0 for none.")
	fs.StringVar(&o.WebhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/",
		"Folder with tls.crt and tls.key of the webhooks.")
	fs.BoolVar(&o.ClaimsByHostName, "enable-bmh-name-based-preallocation", false,
		"Name claims on IPPools <host>-<pool>, so that a pool can hold an address for a host in advance.")
	o.LeaderElection.addFlags(fs)
	o.addRateFlags(fs)
	o.addConcurrencyFlags(fs)
	flags.AddManagerOptions(fs, &o.Serving)
	logsv1.AddFlags(o.Logging, fs)
}

func (l *LeaderElection) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&l.Enabled, "leader-elect", false, "Let only one of several managers work at a time.")
	fs.StringVar(&l.Namespace, "leader-election-namespace", "", "Namespace of the lease; that of the Pod if empty.")
	fs.DurationVar(&l.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long others wait before they take over.")
	fs.DurationVar(&l.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew before it gives up.")
	fs.DurationVar(&l.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "How often a manager tries to get or renew the lease.")
}

func (o *Options) addRateFlags(fs *pflag.FlagSet) {
	fs.Float32Var(&o.API.QPS, "kube-api-qps", 100, "Requests per second to the management cluster.")
	fs.IntVar(&o.API.Burst, "kube-api-burst", 200, "Requests at once to the management cluster.")
	fs.Float32Var(&o.Workload.QPS, "clustercache-client-qps", 20, "Requests per second to each workload cluster.")
	fs.IntVar(&o.Workload.Burst, "clustercache-client-burst", 30, "Requests at once to each workload cluster.")
}

func (o *Options) addConcurrencyFlags(fs *pflag.FlagSet) {
	for _, f := range []struct {
		kind  string
		value *int
	}{
		{"metal3cluster", &o.Concurrency.Cluster},
		{"metal3machine", &o.Concurrency.Machine},
		{"metal3datatemplate", &o.Concurrency.DataTemplate},
		{"metal3data", &o.Concurrency.Data},
		{"clustercache", &o.Concurrency.ClusterCache},
	} {
		fs.IntVar(f.value, f.kind+"-concurrency", 10, fmt.Sprintf("How many objects the controller %s works on at a time.", f.kind))
	}
}

// Validate says what is wrong with the options, all of it.
func (o Options) Validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(o.API.QPS > 0 && o.API.Burst > 0, "--kube-api-qps and --kube-api-burst must be positive")
	check(o.Workload.QPS > 0 && o.Workload.Burst > 0, "--clustercache-client-qps and --clustercache-client-burst must be positive")
	check(o.WebhookPort >= 0 && o.WebhookPort <= 65535, "--webhook-port=%d is no port", o.WebhookPort)
	check(o.WebhookPort == 0 || o.WebhookCertDir != "", "--webhook-cert-dir is needed with webhooks")
	check(o.SyncPeriod > 0, "--sync-period must be positive")
	c := o.Concurrency
	check(min(c.Cluster, c.Machine, c.DataTemplate, c.Data, c.ClusterCache) > 0, "every --*-concurrency must be at least 1")
	l := o.LeaderElection
	check(!l.Enabled || (l.LeaseDuration > l.RenewDeadline && l.RenewDeadline > l.RetryPeriod && l.RetryPeriod > 0),
		"--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, and that longer than --leader-elect-retry-period")
	return errors.Join(problems...)
}
