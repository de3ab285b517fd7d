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
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/tenantsecrets"
)

// kubeconfigKey is the key of a Secret that holds a kubeconfig.
const kubeconfigKey = "kubeconfig"

// follower reads one Secret whenever it may have changed, for all references to it.
type follower struct {
	registry *Registry
	secret   types.NamespacedName
	// credentials by context, and cancel, are guarded by Registry.mu.
	credentials map[string]*credentials
	cancel      context.CancelFunc

	again chan struct{} // has an entry when the Secret is to be read

	// version is that of the Secret from which file or invalid come: each is parsed
	// once. Only the goroutine of the follower uses them.
	version string
	file    kubeconfig.File
	invalid error
}

// run reads the Secret until its last user leaves.
func (f *follower) run(ctx context.Context) {
	delay := newDelay()
	for {
		var retry <-chan time.Time
		switch read, again := f.read(ctx); {
		case !read: // The manager cannot watch the RoleBinding that it lacks.
			retry = time.After(delay.Step())
		case again > 0:
			retry = time.After(again)
		default:
			delay = newDelay()
		}
		select {
		case <-ctx.Done():
			f.release(context.WithoutCancel(ctx))
			return
		case <-retry:
		case <-f.again:
		}
	}
}

// release ends the watch of the Secrets of the namespace, if it is not needed any more.
func (f *follower) release(ctx context.Context) {
	o := f.registry.options
	if err := tenantsecrets.Release(ctx, o.Secrets, o.Cached, f.secret.Namespace); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Watch of Secrets not ended", "namespace", f.secret.Namespace)
	}
}

// read reads the Secret and acts on what it says. It returns whether it could, and in
// how long it is to be acted on again although nothing has changed; 0 for never.
func (f *follower) read(ctx context.Context) (ok bool, again time.Duration) {
	limited, cancel := context.WithTimeout(ctx, f.registry.options.RequestTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	err := f.registry.options.Live.Get(limited, f.secret, secret)
	switch {
	case ctx.Err() != nil:
		return true, 0
	case apierrors.IsNotFound(err):
		return true, f.use(ctx, refuse(secretNotFound))
	case apierrors.IsForbidden(err):
		f.use(ctx, refuse(secretForbidden))
		return false, 0
	case err != nil:
		// The management cluster did not answer; what is known of the Secret stays.
		ctrl.LoggerFrom(ctx).Error(err, "Secret of an identityRef not read", "namespace", f.secret.Namespace, "secret", f.secret.Name)
		return false, 0
	}
	data, found := secret.Data[kubeconfigKey]
	if !found {
		return true, f.use(ctx, refuse(keyMissing))
	}
	if version := string(secret.UID) + "/" + secret.ResourceVersion; version != f.version {
		f.version = version
		f.parse(data)
	}
	return true, f.use(ctx, f.resolve)
}

// parse parses one kubeconfig of the manager at a time, so that their memory does not
// add up.
func (f *follower) parse(data []byte) {
	f.registry.parsing.Lock()
	defer f.registry.parsing.Unlock()
	f.file, f.invalid = kubeconfig.Parse(data)
	f.registry.metrics.parsed.Inc()
}

// resolution is where a reference leads, or why it does not.
type resolution struct {
	access  *kubeconfig.Access
	problem *identity.Problem
}

// refuse gives every reference the same problem.
func refuse(problem func(identity.Ref) *identity.Problem) func(identity.Ref) resolution {
	return func(ref identity.Ref) resolution { return resolution{problem: problem(ref)} }
}

func (f *follower) resolve(ref identity.Ref) resolution {
	if f.invalid != nil {
		return resolution{problem: kubeconfigProblem(ref, f.invalid)}
	}
	access, err := f.file.Resolve(ref.Context)
	if err != nil {
		return resolution{problem: kubeconfigProblem(ref, err)}
	}
	return resolution{access: &access}
}

// use has all references to the Secret lead where it says, or nowhere if there is a
// problem. It returns when to do so again; 0 for not before the Secret changes.
func (f *follower) use(ctx context.Context, resolve func(identity.Ref) resolution) (again time.Duration) {
	r := f.registry
	r.mu.Lock()
	contexts := slices.Sorted(maps.Keys(f.credentials))
	r.mu.Unlock()
	for _, name := range contexts {
		resolved := resolve(identity.Ref{Namespace: f.secret.Namespace, Secret: f.secret.Name, Context: name})
		r.mu.Lock()
		c, found := f.credentials[name]
		if !found || ctx.Err() != nil {
			r.mu.Unlock()
			continue
		}
		became := c.useLocked(resolved)
		r.mu.Unlock()
		announceSecret(ctx, c.ref, became.before, became.after, became.rotated)
		r.wakeups.wake(ctx, became.users)
		if again == 0 || became.again > 0 && became.again < again {
			again = became.again
		}
	}
	return again
}

// kubeconfigProblem says in words of a condition why a kubeconfig is of no use.
func kubeconfigProblem(ref identity.Ref, err error) *identity.Problem {
	var forbidden *kubeconfig.ForbiddenError
	var context *kubeconfig.ContextError
	switch {
	case errors.As(err, &forbidden):
		return ofSecret(forbiddenFeature, ref, err)
	case errors.As(err, &context):
		return ofSecret(contextNotFound, ref, err)
	default:
		return ofSecret(invalidKubeconfig, ref, err)
	}
}
