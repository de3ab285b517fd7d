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

package remote

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
)

// Options are what a Registry needs. Zero values of the optional ones mean defaults.
type Options struct {
	// Live reads Secrets of the management cluster past the cache.
	Live client.Reader
	// Secrets reports which Secrets change.
	Secrets *secretwatch.Watch
	// Metrics is where the measurements are registered.
	Metrics prometheus.Registerer
	// UserAgent names the manager in the audit logs of other clusters.
	UserAgent string

	// RequestTimeout bounds each request. Optional.
	RequestTimeout time.Duration
	// MaxAnswer bounds how much of one answer is read: its bytes, and more for each
	// object in it. Optional.
	MaxAnswer int64
	// ReadLimiter bounds how fast answers are read. Optional.
	ReadLimiter *transport.ReadLimiter
	// MaxConnections bounds the connections for the references of one namespace.
	MaxConnections int
	// ConnectionMemory and Memory bound what one connection and all together hold in
	// memory of the objects of other clusters, in bytes.
	ConnectionMemory, Memory int64
	// Denied are addresses that are never connected to, whatever name resolves to them. Optional.
	Denied transport.Addresses
}

func (o *Options) setDefaults() {
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 10*time.Second)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 48<<20)
}
