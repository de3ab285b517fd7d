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

// Package setup assembles the hostclaim manager: its options and flags, what its caches hold,
// the controllers and the webhook, and the checks before the start. It decides nothing about
// claims.
package setup

import (
	"context"
	"errors"
	"net/netip"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/pflag"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/admission"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
)

const (
	// leaderElectionID names the Lease of the leader.
	leaderElectionID = "hostclaim-manager-leader-election"

	// userAgent names the manager in the audit logs of API servers.
	userAgent = "hostclaim-manager"

	// reporter is the name under which events are emitted.
	reporter = "hostclaim-manager"
)

// Main is the main function of the manager.
func Main() {
	o := NewOptions()
	manager.Main("hostclaim-manager", &o, func(ctx context.Context, restConfig *rest.Config) (ctrl.Manager, error) {
		return NewManager(ctx, restConfig, o)
	})
}

// NewManager returns a manager with everything set up, ready to start.
func NewManager(ctx context.Context, restConfig *rest.Config, o Options) (ctrl.Manager, error) {
	mgr, err := o.New(ctx, restConfig, manager.Definition{
		UserAgent: userAgent, Lease: leaderElectionID, CRDs: neededCRDs(), NewScheme: NewScheme, Cache: CacheOptions(o), Client: ClientOptions(),
	})
	if err != nil {
		return nil, err
	}
	if err := manager.CountRights(ctx, mgr.GetClient(), metrics.Registry, "hostclaim_rights_in_all_namespaces", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
	}); err != nil {
		return nil, err
	}
	if err := AddControllers(ctx, mgr, o, metrics.Registry); err != nil {
		return nil, err
	}
	return mgr, o.AddServers(mgr, admission.SetupWithManager)
}

// neededCRDs are the CRDs that the manager cannot do without.
func neededCRDs() []manager.CRD {
	const theirs = "install baremetal-operator, 0.13 or later, which brings it"
	kind := bmov1alpha1.GroupVersion.WithKind
	return []manager.CRD{
		{Name: "hostclaims.metal3.io", Kind: kind("HostClaim"), Remedy: theirs},
		{Name: "hostdeploypolicies.metal3.io", Kind: kind("HostDeployPolicy"), Remedy: theirs},
		{Name: "baremetalhosts.metal3.io", Kind: kind("BareMetalHost"), Remedy: theirs},
		{Name: "hardwaredata.metal3.io", Kind: kind("HardwareData"), Remedy: theirs},
		{
			Name: "hostclaimclasses.hostclaim.metal3.io", Kind: hostclaimv1.GroupVersion.WithKind("HostClaimClass"),
			Remedy: "apply the whole manifest of the hostclaim manager, which brings it",
		},
	}
}

// NewScheme returns a scheme with all kinds that the manager reads or writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, bmov1alpha1.AddToScheme, hostclaimv1.AddToScheme)
	return scheme, builder.AddToScheme(scheme)
}

// Options are the options of the hostclaim manager.
type Options struct {
	manager.Options

	// RequirePolicyInOwnNamespace asks for a HostDeployPolicy even where claim
	// and host share their namespace.
	RequirePolicyInOwnNamespace bool
	// ImageDenied are the addresses that no image of a claim from another namespace
	// comes from, as addresses.Parse reads them.
	ImageDenied string
	// Concurrency is how many claims are worked on at a time.
	Concurrency int
	// OrphanGrace is how long a host is kept whose HostClaim does not exist any
	// more.
	OrphanGrace time.Duration
}

// NewOptions returns options without values; AddFlags gives them their defaults.
func NewOptions() Options {
	return Options{Options: manager.NewOptions()}
}

// AddFlags adds the flags of the manager; their defaults become those of the
// options.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs)
	fs.BoolVar(&o.RequirePolicyInOwnNamespace, "require-policy-in-own-namespace", false,
		"Ask for a HostDeployPolicy even for hosts of the claim's own namespace.")
	fs.StringVar(&o.ImageDenied, "image-denied-addresses", "local",
		"Addresses that no image of a claim from another namespace comes from, separated by commas: prefixes such as "+
			"172.22.0.0/24 for a provisioning network, or local for loopback and link-local; none if empty.")
	fs.IntVar(&o.Concurrency, "hostclaim-concurrency", 10, "How many claims are worked on at a time, of one namespace two fifths of that; and how many orphaned hosts and copied Secrets.")
	fs.DurationVar(&o.OrphanGrace, "orphan-grace", time.Hour,
		"How long a host is kept as it is after its HostClaim was found gone, before it is wiped and given back.")
}

// deniedImages reads ImageDenied.
func (o Options) deniedImages() ([]netip.Prefix, error) {
	return addresses.Parse(o.ImageDenied, map[string][]netip.Prefix{"local": addresses.Local()})
}

// Validate returns all that is wrong with the options.
func (o Options) Validate() error {
	_, denied := o.deniedImages()
	return errors.Join(o.Options.Validate(),
		manager.Check(denied == nil, "--image-denied-addresses: %v", denied),
		manager.Check(o.Concurrency > 0, "--hostclaim-concurrency must be at least 1"),
		manager.Check(o.OrphanGrace >= 0, "--orphan-grace=%s is negative", o.OrphanGrace))
}
