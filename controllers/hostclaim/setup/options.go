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
	"net/netip"
	"time"

	"github.com/spf13/pflag"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
)

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

// Validate says what is wrong with the options, all of it.
func (o Options) Validate() error {
	_, denied := o.deniedImages()
	return errors.Join(o.Options.Validate(),
		manager.Check(denied == nil, "--image-denied-addresses: %v", denied),
		manager.Check(o.Concurrency > 0, "--hostclaim-concurrency must be at least 1"),
		manager.Check(o.OrphanGrace >= 0, "--orphan-grace=%s is negative", o.OrphanGrace))
}
