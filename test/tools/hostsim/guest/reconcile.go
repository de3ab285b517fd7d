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

package guest

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/drive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/workload"
)

// joinTimeout is how long kubeadm join looks for its cluster before it gives up.
const joinTimeout = 5 * time.Minute

// Reconciler plays one machine per BareMetalHost.
type Reconciler struct {
	// Hosts may read from a cache, Secrets must not: a drive is read once.
	Hosts    client.Reader
	Secrets  client.Reader
	Clusters *workload.Clusters
	Clock    clock.PassiveClock
	// Started is when this process began; hosts that were provisioned before are
	// in their clusters already.
	Started time.Time

	book book
}

// Reconcile takes the machine of one host as far as it gets.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	host := &bmov1alpha1.BareMetalHost{}
	err := r.Hosts.Get(ctx, req.NamespacedName, host)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if r.leftAlone(req.NamespacedName, host, err == nil) {
		return ctrl.Result{}, nil
	}
	o := observe(host)
	for {
		m := r.book.load(req.NamespacedName)
		if m.reboots && !o.reboots && m.phase == alone {
			m.reboots = false
			r.book.store(req.NamespacedName, m)
			log.FromContext(ctx).Info("Machine boots again")
		}
		todo := next(o, m.deployment, m.phase)
		if todo == nothing {
			return ctrl.Result{}, nil
		}
		wait, err := r.do(ctx, todo, host, &m)
		if err != nil {
			return ctrl.Result{}, err
		}
		r.book.store(req.NamespacedName, m)
		if wait {
			return r.untilDeadline(m), nil
		}
	}
}

// leftAlone reports whether the server goes on whatever becomes of its host: the host is paused, or was
// when it vanished, as in a move to another cluster, or it is back and has no status yet.
func (r *Reconciler) leftAlone(key types.NamespacedName, host *bmov1alpha1.BareMetalHost, found bool) bool {
	m := r.book.load(key)
	if m.phase == absent {
		return false
	}
	if !found || host.Status.Provisioning.State == bmov1alpha1.StateNone {
		return m.unmanaged
	}
	if now := unmanaged(host); now != m.unmanaged {
		m.unmanaged = now
		r.book.store(key, m)
	}
	return m.unmanaged
}

// do takes one step and writes its outcome into the machine. The first result
// is true if the step has to be tried again later.
func (r *Reconciler) do(ctx context.Context, todo step, host *bmov1alpha1.BareMetalHost, m *machine) (bool, error) {
	switch todo {
	case install:
		return false, r.install(ctx, host, m)
	case boot:
		return r.boot(ctx, host, m)
	case powerOn:
		if m.phase == aloneOff {
			log.FromContext(ctx).Info("Machine boots again")
			m.phase = alone
			return false, nil
		}
		return r.settle(ctx, host, m, r.Clusters.PowerOn(ctx, m.Machine))
	case powerOff:
		log.FromContext(ctx).Info("Machine is off", "node", m.Node.Name)
		if m.phase == alone {
			m.phase, m.reboots = aloneOff, false
			return false, nil
		}
		m.phase = off
		return false, r.Clusters.PowerOff(ctx, m.Machine)
	case hang:
		log.FromContext(ctx).Info("Machine hangs", "node", m.Node.Name)
		m.phase = hung
		return false, r.Clusters.PowerOff(ctx, m.Machine)
	default:
		if m.phase != dead {
			log.FromContext(ctx).Info("Machine is wiped", "node", m.Node.Name)
		}
		err := r.Clusters.Wipe(ctx, m.Machine)
		*m = machine{}
		return false, err
	}
}

// install reads the config drive, once per deployment.
func (r *Reconciler) install(ctx context.Context, host *bmov1alpha1.BareMetalHost, m *machine) error {
	m.deployment = observe(host).deployment
	parts, err := drive.Read(ctx, r.Secrets, host)
	if err == nil {
		m.Machine, err = newMachine(host, parts)
	}
	if errors.Is(err, kubeadm.ErrNoCommand) {
		// What newMachine could read can be read here.
		config, hostname, _ := configdrive.FirstBoot(host, parts)
		log.FromContext(ctx).Info("Machine boots its image and joins no cluster: its user data does not call kubeadm",
			"image", host.Status.Provisioning.Image.URL, "hostname", hostname, "runcmd", config.Commands)
		m.phase, m.Node.Name = alone, hostname
		return nil
	}
	var unusable *configdrive.Error
	if errors.As(err, &unusable) {
		m.phase = dead
		report(ctx, unusable)
		return nil
	}
	if err != nil {
		return err
	}
	m.phase = installed
	m.Key = types.NamespacedName{Namespace: host.Namespace, Name: host.Name}.String() + " " + m.deployment
	m.Restored = provisionedBefore(host, r.Started)
	return nil
}

// boot lets the machine found or join its cluster for the first time.
func (r *Reconciler) boot(ctx context.Context, host *bmov1alpha1.BareMetalHost, m *machine) (bool, error) {
	if m.deadline.IsZero() {
		m.deadline = r.Clock.Now().Add(joinTimeout)
	}
	return r.settle(ctx, host, m, r.Clusters.Boot(ctx, m.Machine))
}

// settle files what came of an attempt to bring the machine into its cluster.
func (r *Reconciler) settle(ctx context.Context, host *bmov1alpha1.BareMetalHost, m *machine, err error) (bool, error) {
	switch {
	case err == nil:
		log.FromContext(ctx).Info("Machine is in its cluster", "node", m.Node.Name, "role", m.Plan.Role,
			"endpoint", m.Plan.Endpoint, "providerID", m.Plan.Registration.ProviderID())
		m.phase = running
		return false, nil
	case m.Restored && errors.Is(err, syscall.EADDRINUSE):
		log.FromContext(ctx).Info("Machine runs already: another process serves its cluster", "node", m.Node.Name, "endpoint", m.Plan.Endpoint)
		m.phase = alone
		return false, nil
	case workload.IsNotYet(err) && (m.Restored || r.Clock.Now().Before(m.deadline)):
		log.FromContext(ctx).Info("Machine cannot join yet", "node", m.Node.Name, "reason", err.Error())
		return true, nil
	default:
		m.phase = dead
		source := configdrive.SourcesOf(host).UserData
		report(ctx, &configdrive.Error{Secret: source.Secret, Key: source.Key, Err: err})
		return false, nil
	}
}

// untilDeadline comes back when a machine that waits will have to give up.
func (r *Reconciler) untilDeadline(m machine) ctrl.Result {
	if m.Restored {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: m.deadline.Sub(r.Clock.Now()) + time.Second}
}

// report logs why a machine does not run. The host is in the logger.
func report(ctx context.Context, unusable *configdrive.Error) {
	log.FromContext(ctx).Error(unusable.Err, "Machine does not boot; it stays dead until its host is provisioned anew",
		"secret", unusable.Secret, "key", unusable.Key)
}

// NewScheme knows the kinds that a guest reads in the management cluster.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(bmov1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme))
}

// Kind is a kind of objects with guests.
type Kind struct {
	// Name is that of its controller.
	Name   string
	Object client.Object
	// Hosts shows its objects as BareMetalHosts, and Secrets what they boot from.
	Hosts, Secrets client.Reader
}

// Setup adds the guests of BareMetalHosts to a manager, and those of other kinds, which found and join the same clusters.
func Setup(mgr ctrl.Manager, others ...Kind) error {
	kinds := append([]Kind{{"guest", &bmov1alpha1.BareMetalHost{}, mgr.GetClient(), mgr.GetAPIReader()}}, others...)
	// One pending wake-up stands for any number of them.
	wakes := make([]chan event.GenericEvent, len(kinds))
	for i := range wakes {
		wakes[i] = make(chan event.GenericEvent, 1)
	}
	clusters, err := workload.New(mgr.GetLogger().WithName("workload"), func() {
		for _, wake := range wakes {
			select {
			case wake <- event.GenericEvent{Object: &bmov1alpha1.BareMetalHost{}}:
			default:
			}
		}
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(clusters); err != nil {
		return err
	}
	for i, kind := range kinds {
		r := &Reconciler{
			Hosts: kind.Hosts, Secrets: kind.Secrets, Clusters: clusters,
			Clock: clock.RealClock{}, Started: clock.RealClock{}.Now(),
		}
		if err := r.setup(mgr, kind, wakes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) setup(mgr ctrl.Manager, kind Kind, wake chan event.GenericEvent) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(kind.Name).
		For(kind.Object, builder.WithPredicates(predicate.NewPredicateFuncs(r.notePower))).
		WatchesRawSource(source.Channel(wake, handler.EnqueueRequestsFromMapFunc(r.waitingHosts))).
		WithLogConstructor(func(req *reconcile.Request) logr.Logger {
			logger := mgr.GetLogger().WithName(kind.Name)
			if req == nil {
				return logger
			}
			return logger.WithValues("host", req.NamespacedName)
		}).
		Complete(r)
}

// notePower sees every version of a host, of which Reconcile may miss one that did not last. Each is
// of interest.
func (r *Reconciler) notePower(object client.Object) bool {
	host, ok := object.(*bmov1alpha1.BareMetalHost)
	switch {
	case !ok || unmanaged(host):
	case !host.Status.PoweredOn:
		r.book.powerLost(client.ObjectKeyFromObject(host))
	case observe(host).reboots:
		r.book.rebootAsked(client.ObjectKeyFromObject(host))
	}
	return true
}

// waitingHosts maps a wake-up to the hosts that it may help.
func (r *Reconciler) waitingHosts(context.Context, client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, host := range r.book.waiting() {
		requests = append(requests, reconcile.Request{NamespacedName: host})
	}
	return requests
}
