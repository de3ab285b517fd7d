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

package claim

import (
	"net/netip"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/copies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/policies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// policyReader evaluates HostDeployPolicies, from the cache or live.
type policyReader struct {
	client   client.Client
	live     client.Reader
	compiled *policies.Cache
	own      policy.Own
}

// observer reads from the caches what a pass is decided on.
type observer struct {
	client   client.Client
	policies policyReader
}

// binder finds out where a claim stands with its host and binds one to it.
type binder struct {
	client   client.Client
	live     client.Reader
	pool     *pool.Pool
	policies policyReader
	metrics  *Metrics
	clock    clock.PassiveClock
	// deniedImages are addresses that no image of a claim from another namespace comes from.
	deniedImages []netip.Prefix
}

// mover keeps claim and host from being moved apart, and makes both ready to be moved.
type mover struct {
	client client.Client
	live   client.Reader
	kinds  MoveKinds
}

// synchronizer writes to the bound host what the claim asks for, secrets included.
type synchronizer struct {
	client   client.Client
	live     client.Reader
	secrets  SecretWatch
	policies policyReader
	// deniedImages are addresses that no image of a claim from another namespace comes from.
	deniedImages []netip.Prefix
	budget       *copies.Budget
	clock        clock.PassiveClock
	metrics      *Metrics
	announcer    announcer
}

// rebooter passes reboots on to the bound host, and refuses what it cannot pass on.
type rebooter struct {
	client    client.Client
	live      client.Reader
	clock     clock.PassiveClock
	announcer announcer
}

// publisher shows the tenant the hardware of the bound host.
type publisher struct {
	client client.Client
	live   client.Reader
}

// releaser gives the host of a claim back and lets the claim go.
type releaser struct {
	client    client.Client
	live      client.Reader
	secrets   SecretWatch
	binder    *binder
	publisher *publisher
	letGo     *letGo
	metrics   *Metrics
	clock     clock.PassiveClock
	announcer announcer
	// settling are the hosts that are being switched off before they are freed, by claim.
	settling *retry.Deadlines
	// holdFor is how long a host may take to be switched off before it is freed all the same.
	holdFor time.Duration
}

// announcer emits the events of a claim and its host.
type announcer struct {
	recorder events.EventRecorder
	metrics  *Metrics
}

// reporter writes the status of a claim.
type reporter struct {
	client    client.Client
	metrics   *Metrics
	clock     clock.PassiveClock
	announcer announcer
	reports   *retry.Reports
	// holdFor is how long a report may be held back.
	holdFor time.Duration
}

// parts are the steps of a pass, each with the clients that it needs.
type parts struct {
	observer     observer
	binder       binder
	mover        mover
	synchronizer synchronizer
	rebooter     rebooter
	publisher    publisher
	releaser     releaser
	reporter     reporter
}

// parts returns the parts of the reconciler.
func (r *Reconciler) parts() *parts {
	reader := policyReader{client: r.Client, live: r.Live, compiled: &r.compiled, own: r.OwnNamespace}
	announcer := announcer{recorder: r.Recorder, metrics: r.Metrics}
	p := &parts{
		observer: observer{client: r.Client, policies: reader},
		binder: binder{
			client: r.Client, live: r.Live, pool: r.Pool, policies: reader, metrics: r.Metrics, clock: r.Clock,
			deniedImages: r.DeniedImages,
		},
		mover: mover{client: r.Client, live: r.Live, kinds: r.Kinds},
		synchronizer: synchronizer{
			client: r.Client, live: r.Live, secrets: r.Secrets, policies: reader, deniedImages: r.DeniedImages,
			budget: &r.budget, clock: r.Clock, metrics: r.Metrics, announcer: announcer,
		},
		rebooter:  rebooter{client: r.Client, live: r.Live, clock: r.Clock, announcer: announcer},
		publisher: publisher{client: r.Client, live: r.Live},
		reporter: reporter{
			client: r.Client, metrics: r.Metrics, clock: r.Clock, announcer: announcer,
			reports: &r.reports, holdFor: r.HoldReports,
		},
	}
	p.releaser = releaser{
		client: r.Client, live: r.Live, secrets: r.Secrets, binder: &p.binder, publisher: &p.publisher,
		letGo: &r.letGo, metrics: r.Metrics, clock: r.Clock, announcer: announcer,
		settling: &r.settling, holdFor: r.HoldReports,
	}
	return p
}
