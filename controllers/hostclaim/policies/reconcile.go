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

// Package policies warns the author of a HostDeployPolicy of what it may not mean, and
// evaluates policies for the controller of claims (Evaluator).
//
// The controller emits warning events on the policy itself if the policy is invalid and therefore
// skipped, is one too many in its namespace, admits every namespace, has options that do not exist, or would admit other
// namespaces if its expression were not anchored. It admits no claim itself and writes
// nothing but events.
package policies

import (
	"context"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// Reasons of the warning events of a HostDeployPolicy, and of its metric.
const (
	// invalidReason surfaces when a regular expression is invalid. The policy admits no namespace.
	invalidReason = "InvalidPolicy"
	// everybodyReason surfaces when hostClaimNamespaces is {}, which admits every namespace.
	everybodyReason = "AdmitsEverybody"
	// nobodyReason surfaces when hostClaimNamespaces is not set, which admits no namespace.
	nobodyReason = "AdmitsNobody"
	// emptyNamesReason surfaces when names is an empty list, which admits no namespace until a client drops it.
	emptyNamesReason = "EmptyNames"
	// partMatchesReason surfaces when nameMatches matches a part of the name of a namespace, which admits it
	// in baremetal-operator and not here.
	partMatchesReason = "NameMatchesPartOnly"
	// unknownOptionReason surfaces when a key begins with hostclaim.metal3.io/ and is no option.
	unknownOptionReason = "UnknownOption"
	// tooManyReason surfaces when the namespace has more than 100 policies, of which the oldest 100 count.
	tooManyReason = "TooManyPolicies"
)

// Reconciler warns the authors of policies. It keeps nothing between two passes: a warning is given
// once for each version of a policy, and once more by each manager that starts.
type Reconciler struct {
	client   client.Reader
	recorder events.EventRecorder
	warnings *prometheus.GaugeVec
}

// warning is one event.
type warning struct {
	reason, note string
}

// New returns a reconciler and registers its metric.
func New(reader client.Reader, recorder events.EventRecorder, registry prometheus.Registerer) *Reconciler {
	return &Reconciler{client: reader, recorder: recorder, warnings: promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
		Name: "hostclaim_policy_warnings",
		Help: "Faults of a HostDeployPolicy, by reason.",
	}, []string{"namespace", "name", "reason"})}
}

// SetupWithManager watches policies; those with an expression are looked at
// again when the next event of theirs comes, not for every new namespace. A policy that
// comes or goes also wakes the one that counts by that, or does not count any more.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("hostdeploypolicy").
		For(&bmov1alpha1.HostDeployPolicy{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Watches(&bmov1alpha1.HostDeployPolicy{}, handler.EnqueueRequestsFromMapFunc(r.atTheBound),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(r)
}

// Reconcile gives the warnings about one policy, and counts them.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, warnings := &bmov1alpha1.HostDeployPolicy{}, []warning(nil)
	err := r.client.Get(ctx, req.NamespacedName, p)
	if err == nil {
		warnings, err = r.warningsOf(ctx, p)
	}
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	r.warnings.DeletePartialMatch(prometheus.Labels{"namespace": req.Namespace, "name": req.Name})
	for _, w := range warnings {
		r.warnings.WithLabelValues(req.Namespace, req.Name, w.reason).Inc()
		if w.reason == invalidReason {
			ctrl.LoggerFrom(ctx).Info("The policy is invalid and admits no claim", "cause", text.Cut(w.note, text.MaxNote))
		}
		r.recorder.Eventf(p, nil, corev1.EventTypeWarning, w.reason, "Evaluate", "%s", text.Cut(w.note, text.MaxNote))
	}
	return ctrl.Result{}, nil
}

// warningsOf returns what the author of a policy should know. One that does not count is not
// looked at.
func (r *Reconciler) warningsOf(ctx context.Context, p *bmov1alpha1.HostDeployPolicy) ([]warning, error) {
	all, err := r.policies(ctx, p.Namespace)
	if err != nil {
		return nil, err
	}
	counts := func(c bmov1alpha1.HostDeployPolicy) bool { return c.Name == p.Name }
	if len(all) > policy.MaxPerNamespace && !slices.ContainsFunc(policy.Counted(all), counts) {
		return []warning{{tooManyReason, fmt.Sprintf(
			"the policy permits nothing: of the policies of a namespace, the oldest %d count; put several namespaces into one policy, or delete some",
			policy.MaxPerNamespace)}}, nil
	}
	namespaces, err := r.namespaces(ctx)
	if err != nil {
		return nil, err
	}
	return warningsOf(p, namespaces), nil
}

// policies returns the policies of a namespace.
func (r *Reconciler) policies(ctx context.Context, namespace string) ([]bmov1alpha1.HostDeployPolicy, error) {
	list := &bmov1alpha1.HostDeployPolicyList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list HostDeployPolicies of %s: %w", namespace, err)
	}
	return list.Items, nil
}

// atTheBound returns the last policy of a namespace that counts and the first that does
// not: one of them has changed places when a policy has come or gone.
func (r *Reconciler) atTheBound(ctx context.Context, o client.Object) []reconcile.Request {
	all, err := r.policies(ctx, o.GetNamespace())
	if err != nil {
		ctrl.LoggerFrom(ctx).V(4).Info("No policies to wake", "because", err.Error())
		return nil
	}
	if len(all) < policy.MaxPerNamespace {
		return nil
	}
	var out []reconcile.Request
	for _, p := range policy.ByAge(all)[policy.MaxPerNamespace-1 : min(len(all), policy.MaxPerNamespace+1)] {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&p)})
	}
	return out
}

// namespaces returns the names of all namespaces.
func (r *Reconciler) namespaces(ctx context.Context) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	slices.Sort(out)
	return out, nil
}

// warningsOf returns what the author of a policy should know.
func warningsOf(p *bmov1alpha1.HostDeployPolicy, namespaces []string) []warning {
	var out []warning
	compiled := policy.Compile(p)
	if err := compiled.Err(); err != nil {
		out = []warning{{invalidReason, strings.ReplaceAll(err.Error(), "\n", "; ")}}
	} else {
		out = admissionWarnings(p, compiled, namespaces)
	}
	for _, note := range text.Warnings(slices.Values(policy.UnknownOptions(p))) {
		out = append(out, warning{unknownOptionReason, note})
	}
	return out
}

// admissionWarnings returns which namespaces a valid policy admits, or does not admit,
// against expectation.
func admissionWarnings(p *bmov1alpha1.HostDeployPolicy, compiled *policy.Compiled, namespaces []string) []warning {
	var out []warning
	if policy.AdmitsAll(p) {
		out = append(out, warning{
			everybodyReason,
			"hostClaimNamespaces is empty, so claims of every namespace may use the hosts of this one; list names to narrow it",
		})
	}
	if nobody := policy.AdmitsNobody(p); nobody != "" {
		out = append(out, warning{nobodyReason, nobody})
	}
	if policy.EmptyNames(p) {
		out = append(out, warning{
			emptyNamesReason,
			"names is an empty list, so the policy admits nobody until a client drops the list; " +
				"leave hostClaimNamespaces out to admit nobody, or names if the rest is to decide",
		})
	}
	var partly []string
	for _, namespace := range namespaces {
		if compiled.MatchesPartOnly(namespace) {
			partly = append(partly, namespace)
		}
	}
	if len(partly) > 0 {
		out = append(out, warning{partMatchesReason, fmt.Sprintf(
			"nameMatches must match the whole name, so it does not admit %s; write .* around it if it should",
			text.List(partly))})
	}
	return out
}
