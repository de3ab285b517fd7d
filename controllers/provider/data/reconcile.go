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

package data

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/hostview"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/tenantsecrets"
)

// phase is one step of a pass. It may add facts to the scope; it never sets a
// condition.
type phase = progress.Step[*scope]

// Reconcile brings one Metal3Data a step closer to its secrets, or to its end.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if wait := r.stale.TooEarly(req.NamespacedName, r.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		r.stale.Forget(req.NamespacedName)
		r.written.Forget(req.NamespacedName)
		r.reports.Forget(req.NamespacedName)
		return ctrl.Result{}, err
	}
	if until, behind := r.written.Behind(req.NamespacedName, s.data.ResourceVersion, r.Clock.Now()); behind {
		return r.stale.Result(ctx, req.NamespacedName, progress.Behind(until, "Metal3Data"), r.Clock.Now())
	}
	ctx = withOwners(ctx, s)
	if s.paused() {
		return r.finish(ctx, s, progress.Outcome{})
	}
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, s.data, infrav1.DataFinalizer); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	s.before = s.data.DeepCopy()
	out := progress.Run(ctx, s, progress.UntilWait, r.phases(s)...)
	if out.Done() && !s.data.DeletionTimestamp.IsZero() {
		return r.end(ctx, s)
	}
	return r.finish(ctx, s, out)
}

// end lets a Metal3Data go of which nothing is left.
func (r *Reconciler) end(ctx context.Context, s *scope) (ctrl.Result, error) {
	key, read := client.ObjectKeyFromObject(s.data), s.data.ResourceVersion
	err := r.endSteps().dropFinalizer(ctx, s.data)
	if err == nil && s.data.ResourceVersion == read {
		r.written.Left(key, read, r.Clock.Now())
	}
	return r.stale.Result(ctx, key, progress.Failed(err), r.Clock.Now())
}

// phases lists the steps of this pass in order. Each needs what those before it
// found: the first that waits or fails ends the pass.
func (r *Reconciler) phases(s *scope) []phase {
	sources, addresses, secrets, end := r.sourceSteps(), r.addressSteps(), r.secretSteps(), r.endSteps()
	if !s.data.DeletionTimestamp.IsZero() {
		return []phase{end.waitForClaim, addresses.observeHeld, addresses.releaseAll, secrets.release}
	}
	return []phase{
		addresses.observeHeld, addresses.restore, sources.observeTemplate, sources.observeMachine, secrets.observe, sources.observeHost,
		addresses.observe, addresses.ask, addresses.read, addresses.render, secrets.apply,
	}
}

// load reads the Metal3Data and its Cluster. One that is gone may have left
// claims on pools behind, and may have been the last of its namespace.
func (r *Reconciler) load(ctx context.Context, key types.NamespacedName) (*scope, bool, error) {
	s := &scope{data: &infrav1.Metal3Data{}}
	if err := r.Client.Get(ctx, key, s.data); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return nil, false, fmt.Errorf("read Metal3Data: %w", err)
		}
		return nil, false, errors.Join(r.addressSteps().releaseVanished(ctx, key), tenantsecrets.Release(ctx, r.Secrets, r.Client, key.Namespace))
	}
	if r.WatchFilter != "" && !labels.HasWatchLabel(s.data, r.WatchFilter) {
		return nil, false, nil
	}
	s.before = s.data.DeepCopy()
	if name := s.data.Labels[clusterv1.ClusterNameLabel]; name != "" {
		s.cluster = &clusterv1.Cluster{}
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: name}, s.cluster)
		if client.IgnoreNotFound(err) != nil {
			return nil, false, fmt.Errorf("read Cluster %s: %w", name, err)
		}
	}
	return s, true, nil
}

// finish reports the pass and writes what has changed: the names of the secrets,
// then the status. Both carry the lock, since a Metal3Data of that name may have
// come anew, for another machine.
func (r *Reconciler) finish(ctx context.Context, s *scope, out progress.Outcome) (ctrl.Result, error) {
	report(s, out)
	key := client.ObjectKeyFromObject(s.data)
	if until, held := r.reports.Hold(key, reportOf(s, out), r.Clock.Now(), r.HoldReports); held {
		return r.stale.Result(ctx, key, out.And(progress.Until(until, "", "")), r.Clock.Now())
	}
	version, err := apply.Changes(ctx, r.Client, s.before, s.data)
	if version != s.before.ResourceVersion {
		r.written.Wrote(key, version, r.Clock.Now())
	}
	if err != nil {
		err = fmt.Errorf("write Metal3Data: %w", err)
	} else {
		r.announce(ctx, s)
	}
	return r.stale.Result(ctx, key, out.And(progress.Failed(err)), r.Clock.Now())
}

// reportOf is what there is to report: the names of the secrets are urgent, and all that is
// waited for may as a rule come at once, as does the end of one that is being deleted, or whose
// machine has gone.
func reportOf(s *scope, out progress.Outcome) retry.Report {
	lasting := func(w progress.Wait) bool {
		switch w.Reason {
		case infrav1.WaitingForAddressesReason, infrav1.AddressUnavailableReason,
			infrav1.WaitingForHostClaimReason, infrav1.DeletingReason, infrav1.OwnerNotFoundReason:
			return false
		default:
			return true
		}
	}
	switch {
	case reflect.DeepEqual(s.before, s.data):
		return retry.Nothing
	case !reflect.DeepEqual(s.before.ObjectMeta, s.data.ObjectMeta), !reflect.DeepEqual(s.before.Spec, s.data.Spec), out.Done():
		return retry.Urgent
	case !s.paused() && out.Err() == nil && !slices.ContainsFunc(out.Waits(), lasting):
		return retry.Transient
	default:
		return retry.Changed
	}
}

// scope holds what one pass knows about one Metal3Data. It holds facts only. A
// phase is not reached without what the phases before it set.
type scope struct {
	// data is set by load; before is the copy that it is compared with.
	data, before *infrav1.Metal3Data
	// cluster is set by load; nil means that the Metal3Data names none, an empty
	// one that it does not exist.
	cluster *clusterv1.Cluster
	// template is set by observeTemplate, metal3Machine and machine by observeMachine.
	template      *infrav1.Metal3DataTemplate
	metal3Machine *infrav1.Metal3Machine
	machine       *clusterv1.Machine
	// secrets are the secrets that the template asks for, set by secretSteps.
	secrets []*secret
	// host is set by observeHost.
	host hostview.Host
	// held are the claims of the Metal3Data on pools, steps what is to be done about
	// each address, and addresses what the pools gave. They are set by addressSteps.
	held      []addressClaim
	steps     []poolStep
	addresses map[facts.AddressRef]facts.Address
}

// paused says whether nothing may be done now.
func (s *scope) paused() bool {
	return pausing.Paused(s.data, s.cluster)
}

// owner returns the reference to the owner of a kind.
func (s *scope) owner(kind string) (metav1.OwnerReference, bool) {
	for _, owner := range s.data.OwnerReferences {
		if owner.Kind == kind {
			return owner, true
		}
	}
	return metav1.OwnerReference{}, false
}

// withOwners puts the Cluster and the machine of the Metal3Data into the logger.
func withOwners(ctx context.Context, s *scope) context.Context {
	log := ctrl.LoggerFrom(ctx)
	if s.cluster != nil {
		log = log.WithValues("Cluster", klog.KObj(s.cluster))
	}
	if machine, found := s.owner(machineKind); found {
		log = log.WithValues(machineKind, klog.KRef(s.data.Namespace, machine.Name))
	}
	return ctrl.LoggerInto(ctx, log)
}

// secretRef names a secret of the Metal3Data's namespace.
func (s *scope) secretRef(name string) *corev1.SecretReference {
	return &corev1.SecretReference{Namespace: s.data.Namespace, Name: name}
}
