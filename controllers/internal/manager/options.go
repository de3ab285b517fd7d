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

// Package manager has what the managers have in common as processes: flags, probes, webhooks, bounds
// of what they accept, and what they check about the cluster when they start.
package manager

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"sigs.k8s.io/cluster-api/util/flags"
)

// Options are the options of every manager.
type Options struct {
	// Version asks for the version to be printed, and nothing else to be done.
	Version bool
	// Namespace restricts the manager to one namespace; empty means all.
	Namespace string
	// WatchFilter restricts the manager to objects with this value of the label
	// cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string
	// LeaderElection has only one of several managers work at a time.
	LeaderElection LeaderElection
	// API limits the requests to the cluster that the manager works in.
	API Rate
	// SyncPeriod is how often all objects are reconciled without an event.
	SyncPeriod time.Duration
	// WebhookPort is the port of the webhooks; 0 means that none are served.
	WebhookPort int
	// WebhookCertDir holds tls.crt and tls.key of the webhooks.
	WebhookCertDir string
	// HealthAddress is the address of the probes; 0 means that none are served.
	HealthAddress string
	// ProfilerAddress is the address of pprof, without authentication; empty means that it is
	// not served.
	ProfilerAddress string
	// Serving are the options for TLS and diagnostics.
	Serving flags.ManagerOptions
	// Logging are the options for logs.
	Logging *logsv1.LoggingConfiguration
}

// LeaderElection are the options for leader election.
type LeaderElection struct {
	// Enabled turns it on.
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

// NewOptions returns options without values; AddFlags gives them their defaults.
func NewOptions() Options {
	return Options{Logging: logs.NewOptions()}
}

// AddFlags adds the flags to the set; their defaults become those of the
// options.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Version, "version", false, "Print the version and exit.")
	fs.StringVar(&o.Namespace, "namespace", "", "Namespace to watch; all namespaces if empty.")
	fs.StringVar(&o.WatchFilter, "watch-filter", "",
		"Value of the label cluster.x-k8s.io/watch-filter of the objects to reconcile; all objects if empty.")
	fs.Float32Var(&o.API.QPS, "kube-api-qps", 300, "Requests per second to the API server, for each kind.")
	fs.IntVar(&o.API.Burst, "kube-api-burst", 600, "Requests at once to the API server, for each kind.")
	fs.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Hour,
		"How often all objects are reconciled without a reason. Everything that matters is watched.")
	fs.IntVar(&o.WebhookPort, "webhook-port", 9443, "Port of the webhooks; 0 for none.")
	fs.StringVar(&o.WebhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/",
		"Folder with tls.crt and tls.key of the webhooks.")
	fs.StringVar(&o.HealthAddress, "health-addr", ":9440", "Address of /healthz and /readyz; 0 for none.")
	fs.StringVar(&o.ProfilerAddress, "profiler-address", "",
		"Address of pprof, such as localhost:6060; none if empty. It asks for no token.")
	o.LeaderElection.addFlags(fs)
	flags.AddManagerOptions(fs, &o.Serving)
	logsv1.AddFlags(o.Logging, fs)
}

func (o *Options) common() *Options { return o }

func (l *LeaderElection) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&l.Enabled, "leader-elect", false, "Let only one of several managers work at a time.")
	fs.StringVar(&l.Namespace, "leader-election-namespace", "", "Namespace of the lease; that of the Pod if empty.")
	fs.DurationVar(&l.LeaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"How long others wait before they take over.")
	fs.DurationVar(&l.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"How long the leader tries to renew before it gives up.")
	fs.DurationVar(&l.RetryPeriod, "leader-elect-retry-period", 2*time.Second,
		"How often a manager tries to get or renew the lease.")
}

// Validate returns all that is wrong with the options.
func (o Options) Validate() error {
	l := o.LeaderElection
	return errors.Join(
		Check(len(validation.IsValidLabelValue(o.WatchFilter)) == 0, "--watch-filter=%s is no value of a label", o.WatchFilter),
		Check(o.API.QPS > 0 && o.API.Burst > 0, "--kube-api-qps and --kube-api-burst must be positive"),
		Check(o.WebhookPort >= 0 && o.WebhookPort <= 65535, "--webhook-port=%d is no port", o.WebhookPort),
		Check(o.WebhookPort == 0 || o.WebhookCertDir != "", "--webhook-cert-dir is needed with webhooks"),
		Check(o.SyncPeriod > 0, "--sync-period must be positive"),
		Check(!l.Enabled || (l.LeaseDuration > l.RenewDeadline && l.RenewDeadline > l.RetryPeriod && l.RetryPeriod > 0),
			"--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, "+
				"and that longer than --leader-elect-retry-period"),
	)
}

// Check returns nil if ok, and otherwise an error of this format.
func Check(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
