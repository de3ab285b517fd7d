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

// Options are the options of the hostclaim manager.
type Options struct {
	// Namespace restricts the manager to one namespace; empty means all.
	Namespace string
	// RequirePolicyInOwnNamespace asks for a HostDeployPolicy even where claim
	// and host share their namespace.
	RequirePolicyInOwnNamespace bool
	// LeaderElection says that of several managers only one works at a time.
	LeaderElection LeaderElection
	// QPS and Burst limit the requests to the API server.
	QPS   float32
	Burst int
	// WebhookPort is where the webhook is served; 0 means nowhere.
	WebhookPort int
	// WebhookCertDir holds tls.crt and tls.key of the webhook.
	WebhookCertDir string
	// HealthAddress is where probes are answered; 0 means nowhere.
	HealthAddress string
	// SyncPeriod is how often everything is looked at without a reason.
	SyncPeriod time.Duration
	// Concurrency is how many claims are worked on at a time.
	Concurrency int
	// Serving are the options for TLS and diagnostics.
	Serving flags.ManagerOptions
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

// NewOptions returns options without values; AddFlags gives them their defaults.
func NewOptions() Options {
	return Options{Logging: logs.NewOptions()}
}

// AddFlags adds the flags of the manager; their defaults become those of the
// options.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Namespace, "namespace", "", "Namespace to watch; all namespaces if empty.")
	fs.BoolVar(&o.RequirePolicyInOwnNamespace, "require-policy-in-own-namespace", false,
		"Ask for a HostDeployPolicy even for hosts of the claim's own namespace.")
	fs.Float32Var(&o.QPS, "kube-api-qps", 100, "Requests per second to the API server.")
	fs.IntVar(&o.Burst, "kube-api-burst", 200, "Requests at once to the API server.")
	fs.IntVar(&o.WebhookPort, "webhook-port", 9443, "Port of the webhook; 0 for none.")
	fs.StringVar(&o.WebhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/",
		"Folder with tls.crt and tls.key of the webhook.")
	fs.StringVar(&o.HealthAddress, "health-addr", ":9440", "Address of /healthz and /readyz; 0 for none.")
	fs.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Hour,
		"How often all claims are reconciled without a reason. Everything that matters is watched.")
	fs.IntVar(&o.Concurrency, "hostclaim-concurrency", 10, "How many claims are worked on at a time.")
	o.LeaderElection.addFlags(fs)
	flags.AddManagerOptions(fs, &o.Serving)
	logsv1.AddFlags(o.Logging, fs)
}

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

// Validate says what is wrong with the options, all of it.
func (o Options) Validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(o.QPS > 0 && o.Burst > 0, "--kube-api-qps and --kube-api-burst must be positive")
	check(o.WebhookPort >= 0 && o.WebhookPort <= 65535, "--webhook-port=%d is no port", o.WebhookPort)
	check(o.WebhookPort == 0 || o.WebhookCertDir != "", "--webhook-cert-dir is needed with a webhook")
	check(o.SyncPeriod > 0, "--sync-period must be positive")
	check(o.Concurrency > 0, "--hostclaim-concurrency must be at least 1")
	l := o.LeaderElection
	check(!l.Enabled || (l.LeaseDuration > l.RenewDeadline && l.RenewDeadline > l.RetryPeriod && l.RetryPeriod > 0),
		"--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, "+
			"and that longer than --leader-elect-retry-period")
	return errors.Join(problems...)
}
