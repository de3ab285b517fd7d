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

package model

import (
	"context"
	"errors"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// errDead is what a manager gets that has crashed; no test sees it.
var errDead = errors.New("the manager has crashed")

// verdict is what becomes of a request.
type verdict string

// The verdicts.
const (
	granted    verdict = "granted"
	conflicted verdict = "conflict injected"
	refused    verdict = "refused"
	// denied is a write that an admission policy forbids.
	denied     verdict = "denied"
	unanswered verdict = "answer lost"
	// repeated is a locked write that was done; its answer was lost on the way to a client that then
	// sent it again.
	repeated verdict = "repeated"
)

// pass is one pass of a reconciler over one key. It stops before each request
// until the schedule lets it go on.
type pass struct {
	manager    *manager
	controller *controller
	key        reconcile.Request

	next func() (struct{}, bool)
	stop func()
	halt func() bool

	// pending is the request that it has stopped before, verdict what becomes of
	// it.
	pending store.Request
	verdict verdict
	// sleeps is the step until which it is not let go on.
	sleeps int
	dead   bool

	result reconcile.Result
	err    error

	// policyRead is the position of its first live read of a namespace or policy
	// since it last wrote a host, secretsRead that of its last list of Secrets.
	policyRead, secretsRead int
}

type passKey struct{}

// newPass makes a pass that has not begun.
func newPass(m *manager, c *controller, key reconcile.Request) *pass {
	p := &pass{manager: m, controller: c, key: key, policyRead: -1, secretsRead: -1}
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.halt = func() bool { return yield(struct{}{}) }
		p.result, p.err = c.reconciler.Reconcile(context.WithValue(m.world.ctx, passKey{}, p), key)
	})
	return p
}

// gate stops the passes of a manager before their requests. Requests from outside
// a pass come from handlers of events.
func gate(ctx context.Context, request store.Request, do func() error) error {
	p, ok := ctx.Value(passKey{}).(*pass)
	if !ok {
		return do()
	}
	return p.request(request, do)
}

// request is one request of the pass.
func (p *pass) request(request store.Request, do func() error) error {
	w := p.manager.world
	if p.dead {
		return errDead
	}
	if request.Cached && !chance(w.choices, 8) {
		return p.carryOut(request, granted, do)
	}
	p.pending, p.verdict = request, granted
	if !p.halt() {
		p.dead = true
		return errDead
	}
	return p.carryOut(request, p.verdict, do)
}

// carryOut carries out the verdict and keeps the books.
func (p *pass) carryOut(request store.Request, v verdict, do func() error) error {
	w := p.manager.world
	w.count(request.Verb + " " + where(request))
	w.minded(p, request)
	w.writer = p
	resource := schema.GroupResource{Group: "metal3.io", Resource: string(request.Kind)}
	var err error
	switch v {
	case granted:
		err = do()
	case conflicted:
		err = apierrors.NewConflict(resource, request.Key.Name, errors.New("injected"))
	case refused:
		err = apierrors.NewServerTimeout(resource, request.Verb, 1)
	case denied:
		err = apierrors.NewForbidden(resource, request.Key.Name, errors.New("injected"))
	case unanswered:
		if err = do(); err == nil {
			err = apierrors.NewTimeoutError("the answer was lost", 1)
		}
	case repeated:
		if err = do(); err == nil {
			err = apierrors.NewConflict(resource, request.Key.Name, errors.New("repeated"))
		}
	}
	w.writer = nil
	w.tracef("%s: %s", p, lineOf(request, v, err))
	if request.Writes() && request.Kind == store.Hosts {
		p.policyRead = -1
	}
	return err
}

func where(request store.Request) string {
	out := string(request.Kind)
	if request.Subresource != "" {
		out += "/" + request.Subresource
	}
	if request.Cached {
		out += " (cached)"
	}
	return out
}

// String names the pass in traces.
func (p *pass) String() string {
	return p.manager.String() + " " + p.controller.name + " " + p.key.String()
}
