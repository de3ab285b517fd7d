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
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
)

const (
	// firstDelay and maxDelay bound the pause before a cluster that cannot be used is
	// tried again: nothing of it can be watched.
	firstDelay = 500 * time.Millisecond
	maxDelay   = 30 * time.Second
	// spacing is the pause between two checks of a connection that works although its
	// requests fail.
	spacing = 5 * time.Second
	// requestRate and requestBurst limit the requests of the users of one connection.
	requestRate, requestBurst = 20, 30
)

// state is what the users of a connection get: a site, or the problem because of which there is none.
type state struct {
	site    Site
	problem *identity.Problem
}

// connecting is the state of a connection that is being made.
func connecting() state { return state{problem: identity.Connecting.Problem()} }

func (s state) pending() bool { return s.name() == infrav1.IdentityConnectingReason }

// same reports whether users need not be woken for the change to the other state.
func (s state) same(other state) bool {
	if s.problem != nil && other.problem != nil {
		return *s.problem == *other.problem
	}
	return s.problem == other.problem && s.site.Client == other.site.Client
}

// name is Connected, or a reason of the condition IdentityReady.
func (s state) name() string {
	if s.problem != nil {
		return s.problem.Reason
	}
	return infrav1.IdentityConnectedReason
}

// connection reaches one namespace of one cluster with one set of credentials.
type connection struct {
	// access, state and holders are guarded by Registry.mu.
	access  kubeconfig.Access
	state   state
	holders map[*credentials]struct{}

	registry  *Registry
	namespace string // of the reference for which the connection was made
	name      string // identifies it; the hash of the first access
	meter     *meter
	transport *transport.Transport
	renewed   chan struct{} // has an entry when the token is another one
	cancel    context.CancelFunc
}

// connectLocked begins a new connection for a reference of a namespace.
func (r *Registry) connectLocked(ctx context.Context, access kubeconfig.Access, namespace string) *connection {
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{
		access: access, state: connecting(), holders: map[*credentials]struct{}{},
		registry: r, namespace: namespace, name: access.Key(), meter: r.budget.meter(namespace, access.Target()),
		renewed: make(chan struct{}, 1), cancel: cancel,
	}
	o := r.options
	c.transport = transport.New(access, transport.Limits{
		Request: o.RequestTimeout, Answer: o.MaxAnswer, Denied: o.Denied,
		Reading: func(weight int64, _ bool) bool { return c.meter.read(weight) }, Delay: o.ReadLimiter.Of(namespace),
	}, o.UserAgent, r.metrics.sent)
	r.connections[access.Key()] = c
	r.loops.Go(func() { c.run(ctx, access.Target()) })
	return c
}

// renew gives the connection the token of an access that differs in nothing else. The
// next request carries it; the watches go on. The caller holds Registry.mu.
func (c *connection) renew(access kubeconfig.Access) {
	c.access = access
	c.transport.Authorize(access.Authorization())
	select {
	case c.renewed <- struct{}{}:
	default:
	}
}

// run keeps the connection up until its last user leaves:
//
//	check ─▶ fill the cache ─▶ serve until a check finds a problem ─▶ pause ─▶ check ...
//
// While there is a problem, only the checks reach the cluster. The pauses grow as long as
// problems follow one another, and a new token ends them.
func (c *connection) run(ctx context.Context, target identity.Target) {
	defer c.transport.Close()
	defer c.meter.close()
	delay := flowcontrol.NewBackOffWithJitter(firstDelay, maxDelay, 0.5)
	for {
		problem := c.serve(ctx, target)
		if ctx.Err() != nil {
			return
		}
		c.registry.settle(ctx, c, state{problem: problem})
		delay.Next(target.Server, delay.Clock.Now())
		pause := delay.Get(target.Server)
		if problem.Reason == infrav1.IdentityMemoryLimitReason {
			pause = maxDelay // reading it all again is expensive
		}
		select {
		case <-ctx.Done():
			return
		case <-c.renewed:
			delay.DeleteEntry(target.Server)
		case <-time.After(pause):
		}
	}
}

// serve connects and stays until there is a problem, which it returns.
func (c *connection) serve(ctx context.Context, target identity.Target) *identity.Problem {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.meter.begin(cancel)
	problem := c.check(ctx, target)
	if problem == nil {
		problem = c.open(ctx, target, &running)
	}
	if problem == nil {
		problem = c.guard(ctx, target)
	}
	errors.As(context.Cause(ctx), &problem) // other requests fail because of it
	return problem
}

// guard checks the connection whenever a request has failed or the token changes,
// until there is a problem. It pauses between two checks of a cluster whose requests fail
// although no problem is found.
func (c *connection) guard(ctx context.Context, target identity.Target) *identity.Problem {
	doubt := false
	var rest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rest:
			rest = nil
		case <-c.renewed:
			doubt, rest = true, nil
		case failure := <-c.transport.Failed():
			if failure == transport.TimedOut {
				return c.transport.Problem(identity.Silent)
			}
			doubt = true
		}
		if !doubt || rest != nil {
			continue
		}
		if problem := c.check(ctx, target); problem != nil {
			return problem
		}
		doubt, rest = false, time.After(wait.Jitter(spacing, 0.5))
	}
}

// logChange logs that a connection came, went, or fails for another reason. It logs servers,
// namespaces and reasons, never text of a remote cluster.
func logChange(ctx context.Context, target identity.Target, before, after state) {
	if before.name() == after.name() {
		return
	}
	log := ctrl.LoggerFrom(ctx).WithValues("server", target.Server, "namespace", target.Namespace)
	switch {
	case after.problem == nil:
		log.Info("Connected to the remote cluster")
	case before.problem == nil:
		log.Info("Lost the connection to the remote cluster", "reason", after.problem.Reason)
	default:
		log.Info("Cannot connect to the remote cluster", "reason", after.problem.Reason)
	}
}

// check returns why the connection cannot be used: the cluster does not answer, does not
// know the credentials, does not serve the kinds, or rights are missing.
func (c *connection) check(ctx context.Context, target identity.Target) *identity.Problem {
	asker, err := kubernetes.NewForConfigAndClient(config(target.Server, nil), c.transport.ForChecks()) // users must not hold it up
	if err != nil {
		return identity.BadSettings.Problem(target.Server, err)
	}
	if problem := c.checkKinds(ctx, asker, target); problem != nil {
		return problem
	}
	missing, err := missingRights(ctx, asker.AuthorizationV1(), target.Namespace)
	switch {
	case apierrors.IsForbidden(err), err == nil && len(missing) == 0: // without the right to ask, the first request shows it
		return nil
	case err != nil:
		return c.transport.ProblemOf(err)
	default:
		return identity.RightsMissing.Problem(strings.Join(missing, "; "), target.Namespace, target.Server)
	}
}

// checkKinds asks which kinds the cluster serves.
func (c *connection) checkKinds(ctx context.Context, asker kubernetes.Interface, target identity.Target) *identity.Problem {
	served := &metav1.APIResourceList{}
	err := asker.Discovery().RESTClient().Get().AbsPath("/apis/" + bmov1alpha1.GroupVersion.String()).Do(ctx).Into(served)
	serves := func(name string) bool {
		return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
	}
	switch {
	case apierrors.IsForbidden(err): // without the right to ask, the first request shows it
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return c.transport.ProblemOf(err)
	case !serves("hostclaims"):
		return identity.HostClaimAPIMissing.Problem(target.Server)
	case !serves("hardwaredata"):
		return identity.HardwareDataAPIMissing.Problem(target.Server)
	}
	return nil
}

// rights are what the credentials need in the namespace of the claims.
var rights = [...]struct {
	group, resource string
	verbs           []string
}{
	{bmov1alpha1.GroupVersion.Group, "hostclaims", []string{"get", "list", "watch", "create", "patch", "delete"}},
	{bmov1alpha1.GroupVersion.Group, "hardwaredata", []string{"get", "list", "watch"}},
	{corev1.GroupName, "secrets", []string{"get", "list", "watch", "create", "patch", "delete"}},
}

// missingRights returns the verbs that are missing of each resource. What an incomplete
// review does not show is asked for by itself.
func missingRights(ctx context.Context, asker authorizationclient.AuthorizationV1Interface, namespace string) (missing []string, err error) {
	review, err := asker.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	for _, r := range rights {
		var verbs []string
		for _, verb := range r.verbs {
			permitted := permits(review.Status.ResourceRules, r.group, r.resource, verb)
			if !permitted && review.Status.Incomplete {
				access, err := asker.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
					Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: r.group, Resource: r.resource,
					}},
				}, metav1.CreateOptions{})
				if err != nil {
					return nil, err
				}
				permitted = access.Status.Allowed
			}
			if !permitted {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			missing = append(missing, strings.Join(verbs, ", ")+" "+schema.GroupResource{Group: r.group, Resource: r.resource}.String())
		}
	}
	return missing, nil
}

// permits reports whether a rule permits a verb on all objects of a resource.
func permits(rules []authorizationv1.ResourceRule, group, resource, verb string) bool {
	has := func(list []string, name string) bool {
		return slices.Contains(list, name) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
		return has(rule.Verbs, verb) && has(rule.APIGroups, group) && has(rule.Resources, resource) && len(rule.ResourceNames) == 0
	})
}
