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
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// calm is how long a connection has to hold before the pauses begin at firstDelay again.
	calm = time.Minute
	// spacing is the pause between two checks of a connection that works although its
	// requests fail.
	spacing = 5 * time.Second
)

// state is what the users of a connection get: a site, or a problem. The zero value
// means that neither is known yet.
type state struct {
	site    Site
	problem *identity.Problem
}

func (s state) pending() bool {
	return s.problem == nil && s.site.Client == nil
}

// same reports whether users need not be woken for the change to the other state.
func (s state) same(other state) bool {
	if s.problem != nil && other.problem != nil {
		return *s.problem == *other.problem
	}
	return s.problem == other.problem && s.site.Client == other.site.Client
}

// name is Connected, or a reason of the condition IdentityReady.
func (s state) name() string {
	switch {
	case s.problem != nil:
		return s.problem.Reason
	case s.pending():
		return infrav1.IdentityConnectingReason
	default:
		return infrav1.IdentityConnectedReason
	}
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
func (r *Registry) connectLocked(access kubeconfig.Access, namespace string) *connection {
	ctx, cancel := context.WithCancel(r.running)
	c := &connection{
		access: access, holders: map[*credentials]struct{}{},
		registry: r, namespace: namespace, name: access.Key(), meter: r.budget.meter(namespace, access.Target()),
		renewed: make(chan struct{}, 1), cancel: cancel,
	}
	o := r.options
	c.transport = transport.New(access, transport.Limits{
		Request: o.RequestTimeout, Answer: o.MaxAnswer, Denied: o.Denied,
		Reading: c.meter.read, Event: c.meter.read, Delay: o.ReadLimiter.Of(namespace),
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
	nudge(c.renewed)
}

// run keeps the connection up until its last user leaves:
//
//	check ─▶ fill the cache ─▶ serve until a check finds a problem ─▶ pause ─▶ check ...
//
// While there is a problem, only the checks reach the cluster. The pauses grow as long as
// the connection does not hold, and a new token ends them.
func (c *connection) run(ctx context.Context, target identity.Target) {
	defer c.transport.Close()
	defer c.meter.close()
	delay := newDelay()
	for {
		held, problem := c.serve(ctx, target)
		if ctx.Err() != nil {
			return
		}
		select {
		case problem = <-c.meter.over: // other requests fail because of it
		default:
		}
		switch {
		case problem.Reason == infrav1.IdentityMemoryLimitReason:
			delay = wait.Backoff{Duration: maxDelay, Jitter: 0.5} // reading it all again is expensive
		case held >= calm:
			delay = newDelay()
		}
		c.registry.settle(ctx, c, state{problem: problem})
		select {
		case <-ctx.Done():
			return
		case <-c.renewed:
			delay = newDelay()
		case <-time.After(delay.Step()):
		}
	}
}

func newDelay() wait.Backoff {
	return wait.Backoff{Duration: firstDelay, Factor: 2, Jitter: 0.5, Steps: 10, Cap: maxDelay}
}

// serve connects and stays until there is a problem. It returns that, and how long
// the connection was of use.
func (c *connection) serve(ctx context.Context, target identity.Target) (time.Duration, *identity.Problem) {
	c.meter.begin()
	if problem := c.check(ctx, target, true); problem != nil {
		return 0, problem
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	site, problem := c.open(ctx, target, &running)
	if problem != nil {
		return 0, problem
	}
	since := c.registry.options.Clock.Now()
	c.registry.settle(ctx, c, state{site: site})
	problem = c.guard(ctx, target)
	return c.registry.options.Clock.Since(since), problem
}

// guard checks the connection whenever a request has failed or the token changes,
// until there is a problem. It pauses between two checks of a cluster whose requests fail
// although no problem is found.
func (c *connection) guard(ctx context.Context, target identity.Target) *identity.Problem {
	var found transport.Failures
	var doubt bool
	var rest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case problem := <-c.meter.over:
			return problem
		case <-rest:
			rest = nil
		case <-c.renewed:
			found.Forbidden, doubt, rest = true, true, nil
		case failures := <-c.transport.Failed():
			found, doubt = found.And(failures), true
		}
		if found.Problem != nil {
			return found.Problem
		}
		if !doubt || rest != nil {
			continue
		}
		if problem := c.check(ctx, target, found.Forbidden); problem != nil {
			return problem
		}
		found, doubt, rest = transport.Failures{}, false, time.After(wait.Jitter(spacing, 0.5))
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
	case before.problem == nil && !before.pending():
		log.Info("Lost the connection to the remote cluster", "reason", after.problem.Reason)
	default:
		log.Info("Cannot connect to the remote cluster", "reason", after.problem.Reason)
	}
}

// check returns why the connection cannot be used: the cluster does not answer, does not
// know the credentials, does not serve the kinds or, if withRights is set, rights are missing.
func (c *connection) check(ctx context.Context, target identity.Target, withRights bool) *identity.Problem {
	if problem := c.checkKinds(ctx, target); problem != nil || !withRights {
		return problem
	}
	missing, err := c.missingRights(ctx, target.Namespace)
	switch {
	case apierrors.IsForbidden(err): // without the right to ask, the first request shows it
		return nil
	case err != nil:
		return c.transport.ProblemOf(err)
	case len(missing) > 0:
		return identity.RightsMissing.Problem(strings.Join(missing, "; "), target.Namespace, target.Server)
	}
	return nil
}

// checkKinds asks which kinds the cluster serves.
func (c *connection) checkKinds(ctx context.Context, target identity.Target) *identity.Problem {
	config := c.config(nil) // users must not hold it up
	config.NegotiatedSerializer = serializer.NewCodecFactory(c.registry.kinds.scheme).WithoutConversion()
	asker, err := rest.UnversionedRESTClientForConfigAndClient(config, c.transport.ForChecks())
	if err != nil {
		return identity.BadSettings.Problem(target.Server, err)
	}
	served := &metav1.APIResourceList{}
	err = asker.Get().AbsPath("/apis/" + bmov1alpha1.GroupVersion.String()).Do(ctx).Into(served)
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
func (c *connection) missingRights(ctx context.Context, namespace string) (missing []string, err error) {
	asker, err := client.New(c.config(nil), client.Options{
		HTTPClient: c.transport.ForChecks(), Scheme: c.registry.kinds.scheme, Mapper: c.registry.kinds.mapper,
	})
	if err != nil {
		return nil, err
	}
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := asker.Create(ctx, review); err != nil {
		return nil, err
	}
	for _, r := range rights {
		var verbs []string
		for _, verb := range r.verbs {
			permitted := permits(review.Status.ResourceRules, r.group, r.resource, verb)
			if !permitted && review.Status.Incomplete {
				access := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: r.group, Resource: r.resource},
				}}
				if err := asker.Create(ctx, access); err != nil {
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
