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

package kubeconfigreader

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
)

const (
	// requestTime bounds a list of all Nodes; ClusterCache ends other requests after ten
	// seconds, and a pass after a minute.
	requestTime = time.Minute
	// maxList is the weight of a list, about two thousand Nodes. API servers since
	// Kubernetes 1.32 send them one by one instead.
	maxList = 96 << 20
	// maxLists is the weight of all answers that are read at a time. Each takes about
	// twice its weight in memory until it is decoded.
	maxLists = 192 << 20
	// maxListsOfNamespace is the part of one namespace.
	maxListsOfNamespace = maxLists / 2
	// maxEventsOfNamespace is the weight of all events of watches of one namespace that are
	// being read. There is no common limit: a watch may stay open for long, so tenants would
	// take the room of others.
	maxEventsOfNamespace = 16 << 20
)

// Options are what New needs.
type Options struct {
	// Secrets reads the Secrets of the management cluster.
	Secrets client.Reader
	// Denied and Proxy are those of transport.Limits. Proxy is optional.
	Denied transport.Addresses
	Proxy  func(*http.Request) (*url.URL, error)
	// ReadLimiter bounds how fast answers are read. Optional.
	ReadLimiter *transport.ReadLimiter
	// MaxConnections bounds the connections of one namespace; 0 for any number.
	MaxConnections int
	// UserAgent names the manager in the audit logs of workload clusters.
	UserAgent string
}

// Kubeconfigs is a reader of Secrets that hold kubeconfigs in the key "value", as Cluster API
// names them. Get refuses one that is not permitted: it returns the reason as an error, and no
// part of the Secret.
type Kubeconfigs struct {
	client.Reader

	options Options
	scheme  string // of the URLs that lead here
	lists   *lists

	parsing sync.Mutex // one at a time, so that their memory does not add up

	mu         sync.Mutex
	transports map[string]*connection // by the host in the URLs
	listeners  []func(cluster client.ObjectKey)
}

// connection is how one workload cluster is reached.
type connection struct {
	*transport.Transport // nil if the namespace has too many

	refused atomic.Pointer[error] // the first answer that was refused
}

// New returns a reader whose kubeconfigs work in this process only.
func New(o Options) (*Kubeconfigs, error) {
	k := &Kubeconfigs{Reader: o.Secrets, options: o, lists: newLists(), transports: map[string]*connection{}}
	var err error
	k.scheme, err = register(k)
	return k, err
}

// Get reads a Secret, and returns a kubeconfig that leads to the server of the one in it.
// ClusterCache reads the Secret once for each connection, so that an earlier one is over.
func (k *Kubeconfigs) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	into, ok := object.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("read %T: only Secrets with kubeconfigs are read this way", object)
	}
	found := &corev1.Secret{}
	if err := k.Reader.Get(ctx, key, found, options...); err != nil {
		return err
	}
	access, err := k.access(ctx, found)
	if err != nil {
		return fmt.Errorf("secret %s: %w", key, err)
	}
	if err := k.put(key, access, ctrl.LoggerFrom(ctx)); err != nil {
		return fmt.Errorf("secret %s: %w", key, err)
	}
	text, err := kubeconfigTo(k.scheme, hostOf(key))
	if err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", key, err)
	}
	found.Data = map[string][]byte{secret.KubeconfigDataName: text}
	found.DeepCopyInto(into)
	return nil
}

// Forget ends the connection to a Cluster that was deleted.
func (k *Kubeconfigs) Forget(namespace, name string) {
	k.replace(secretOf(client.ObjectKey{Namespace: namespace, Name: name}), nil)
}

// access checks the kubeconfig of a Secret.
func (k *Kubeconfigs) access(ctx context.Context, found *corev1.Secret) (kubeconfig.Access, error) {
	k.parsing.Lock()
	defer k.parsing.Unlock()
	file, err := kubeconfig.Parse(found.Data[secret.KubeconfigDataName])
	if err != nil {
		return kubeconfig.Access{}, err
	}
	access, err := file.Current()
	if err != nil {
		return kubeconfig.Access{}, err
	}
	// A proxy would connect to an address that is not seen when the proxy is dialed.
	if server, err := url.Parse(access.Server); err != nil || addresses.MayLeadTo(k.options.Denied(ctx), server.Hostname()) {
		return kubeconfig.Access{}, kubeconfig.Forbidden("clusters[].cluster.server",
			"name an address outside of those in --workload-denied-addresses of the manager")
	}
	return access, nil
}

// put makes a new connection, unless the namespace has as many as it may. The first answer that
// is refused is logged and reported to the listeners: client-go tries again without logging it.
func (k *Kubeconfigs) put(key client.ObjectKey, access kubeconfig.Access, log logr.Logger) error {
	limits := transport.Limits{
		Request: requestTime, Answer: maxList, Denied: k.options.Denied, Proxy: k.options.Proxy, Delay: k.options.ReadLimiter.Of(key.Namespace),
	}
	c := &connection{}
	limits.Refused = func(err error) {
		if c.refused.CompareAndSwap(nil, &err) {
			log.Info("Refused an answer of a workload cluster", "reason", err.Error())
			k.tell(key)
		}
	}
	limits.Reading = func(weight int64, watch bool) bool {
		if watch {
			return k.lists.event(key.Namespace, weight)
		}
		return k.lists.read(key.Namespace, weight)
	}
	c.Transport = transport.New(access, limits, k.options.UserAgent, func(*http.Response) {})
	if k.replace(key, c) {
		return nil
	}
	var full error = identity.TooManyWorkloads.Problem(key.Namespace, k.options.MaxConnections)
	c = &connection{}
	c.refused.Store(&full)
	k.replace(key, c)
	k.tell(key)
	return full
}

// OnRefused has a function called whenever a new connection to a workload cluster refuses an
// answer for the first time.
func (k *Kubeconfigs) OnRefused(listener func(cluster client.ObjectKey)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners = append(k.listeners, listener)
}

// tell calls the listeners with the cluster whose answers are refused, by the Secret with its
// kubeconfig.
func (k *Kubeconfigs) tell(kubeconfig client.ObjectKey) {
	name, _, err := secret.ParseSecretName(kubeconfig.Name)
	if err != nil {
		return // of no Cluster
	}
	k.mu.Lock()
	listeners := k.listeners
	k.mu.Unlock()
	for _, listener := range listeners {
		listener(client.ObjectKey{Namespace: kubeconfig.Namespace, Name: name})
	}
}

// Refused returns why an answer of a workload cluster was refused since its kubeconfig was
// read last; nil if none was.
func (k *Kubeconfigs) Refused(cluster client.ObjectKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.transports[hostOf(secretOf(cluster))]
	if c == nil {
		return nil
	}
	if refused := c.refused.Load(); refused != nil {
		return *refused
	}
	return nil
}

// secretOf names the Secret with the kubeconfig of a Cluster.
func secretOf(cluster client.ObjectKey) client.ObjectKey {
	return client.ObjectKey{Namespace: cluster.Namespace, Name: secret.Name(cluster.Name, secret.Kubeconfig)}
}

// replace closes what was there for a Secret. It reports whether the namespace may have
// another connection.
func (k *Kubeconfigs) replace(key client.ObjectKey, by *connection) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	host := hostOf(key)
	if by != nil && by.Transport != nil && k.othersLocked(key) >= k.options.MaxConnections && k.options.MaxConnections > 0 {
		return false
	}
	if old := k.transports[host]; old != nil && old.Transport != nil {
		old.Close()
	}
	if by == nil {
		delete(k.transports, host)
		return true
	}
	k.transports[host] = by
	return true
}

// othersLocked counts the connections for other Secrets of the namespace.
func (k *Kubeconfigs) othersLocked(key client.ObjectKey) (n int) {
	for host, c := range k.transports {
		if c.Transport != nil && host != hostOf(key) && strings.HasPrefix(host, key.Namespace+".") {
			n++
		}
	}
	return n
}

// hostOf names a Secret in a URL. No two Secrets have the same: a namespace has no dots.
func hostOf(key client.ObjectKey) string {
	return key.Namespace + "." + key.Name
}

// lists weighs the answers of workload clusters while they are read, and of watches the
// events.
type lists struct {
	mu          sync.Mutex
	sum         int64
	ofNamespace map[string]int64
	events      map[string]int64
}

func newLists() *lists {
	return &lists{ofNamespace: map[string]int64{}, events: map[string]int64{}}
}

// read counts weight that a cluster of a namespace answers, or takes it back if it is
// negative, and reports whether there is room for more.
func (l *lists) read(namespace string, weight int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum += weight
	return add(l.ofNamespace, namespace, weight) <= maxListsOfNamespace && l.sum <= maxLists
}

// event does the same for what has been read of an event.
func (l *lists) event(namespace string, weight int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return add(l.events, namespace, weight) <= maxEventsOfNamespace
}

// add adds to the weight of a namespace and returns the sum.
func add(weights map[string]int64, namespace string, weight int64) int64 {
	sum := weights[namespace] + weight
	if weights[namespace] = sum; sum == 0 {
		delete(weights, namespace)
	}
	return sum
}
