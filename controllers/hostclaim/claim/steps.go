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
	"context"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// pass is one pass over a claim: its parts, what was observed, and what the parts
// came to.
type pass struct {
	*parts
	scope
	results
}

// step is one step of a pass: it calls one part, and keeps what that came to. It
// never sets a condition.
type step = progress.Step[*pass]

// steps are those of a pass, all of which run: each looks at the results for what it
// needs of those before it, so that one that failed does not keep an independent
// one from its work.
func (p *pass) steps() []step {
	if deleting(p.claim) {
		return []step{settle, release, finish}
	}
	return []step{settle, choose, guard, synchronize, reboot, refuse, publish, expire}
}

func settle(ctx context.Context, p *pass) progress.Outcome {
	at, err := p.binder.settle(ctx, &p.scope, binding.Unread)
	p.at, p.host = at, at.host
	return progress.Failed(err)
}

func choose(ctx context.Context, p *pass) progress.Outcome {
	at, out := p.binder.choose(ctx, &p.scope, p.at)
	p.at, p.host, p.bindWait = at, at.host, first(out)
	return out
}

// guard comes before anything is written to the host: what a move has put there goes
// first, and nothing is concluded from a host without status.
func guard(ctx context.Context, p *pass) progress.Outcome {
	host, out := p.mover.guard(ctx, &p.scope, p.at)
	p.host, p.moving = host, !out.Done()
	p.unsynced(out)
	return out
}

func synchronize(ctx context.Context, p *pass) progress.Outcome {
	if p.at.step != binding.Keep || p.moving {
		return progress.Outcome{}
	}
	done, out := p.synchronizer.synchronize(ctx, &p.scope)
	p.host, p.notes = done.host, done.notes
	p.unsynced(out)
	return out
}

func reboot(ctx context.Context, p *pass) progress.Outcome {
	if p.at.step != binding.Keep || p.moving {
		return progress.Outcome{}
	}
	done, out := p.rebooter.reboot(ctx, &p.scope)
	p.host, p.notes = done.host, append(p.notes, done.notes...)
	p.unsynced(out)
	return out
}

// refuse notes the annotations of a claim that are not obeyed. It comes after what
// is: a refused one keeps nothing else from its way, and what does comes first.
func refuse(_ context.Context, p *pass) progress.Outcome {
	if p.at.step != binding.Keep || p.moving {
		return progress.Outcome{}
	}
	out := refusals(p.claim)
	p.unsynced(out)
	return out
}

// unsynced notes what a step waits for, unless an earlier one waits already.
func (p *pass) unsynced(out progress.Outcome) {
	if p.syncWait.Reason == "" {
		p.syncWait = first(out)
	}
}

func publish(ctx context.Context, p *pass) (out progress.Outcome) {
	if p.at.step == binding.Keep {
		p.hardware, out = p.publisher.publish(ctx, &p.scope)
		p.hardwareWait = first(out)
	}
	return out
}

func expire(ctx context.Context, p *pass) (out progress.Outcome) {
	p.finished, out = p.releaser.expire(ctx, p.claim)
	if wait := first(out); wait.Reason != "" {
		p.notes = append(p.notes, wait.Message)
	}
	return out
}

func release(ctx context.Context, p *pass) progress.Outcome {
	at, out := p.releaser.release(ctx, &p.scope, p.at)
	p.at, p.host, p.releaseWait = at, at.host, first(out)
	return out
}

func finish(ctx context.Context, p *pass) (out progress.Outcome) {
	if p.at.step == binding.Finish {
		p.finished, out = p.releaser.finish(ctx, p.claim, p.at.swept)
		p.releaseWait = first(out)
	}
	return out
}

// first is what is waited for first; empty for nothing.
func first(out progress.Outcome) progress.Wait {
	if waits := out.Waits(); len(waits) > 0 {
		return waits[0]
	}
	return progress.Wait{}
}
