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

package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrLost is the error of a request that was lost, or its answer.
var ErrLost = errors.New("lost")

// Faults are what happens to the requests of controllers. The zero value does
// nothing.
type Faults struct {
	// Random chooses the faults; nil means none.
	Random *rand.Rand
	// Meanwhile runs while a writer is delayed between its reads and its write. It
	// may write itself, and its writes are not delayed.
	Meanwhile func()

	asleep bool
}

// One request out of these meets each kind of fault.
const (
	lostIn, unansweredIn, asleepIn = 20, 30, 10
)

// inject makes a write, delays it or loses it.
func (f *Faults) inject(write func() error) error {
	if f.Random == nil {
		return write()
	}
	if f.Random.IntN(asleepIn) == 0 && !f.asleep && f.Meanwhile != nil {
		f.asleep = true
		f.Meanwhile()
		f.asleep = false
	}
	if f.Random.IntN(lostIn) == 0 {
		return ErrLost
	}
	if err := write(); err != nil || f.Random.IntN(unansweredIn) != 0 {
		return err
	}
	return ErrLost
}

// Live reads from the API server what must not come from a cache, unless that
// fails.
func (h *History) Live(f *Faults) client.Reader {
	return interceptor.NewClient(h.server.Client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if f.Random != nil && f.Random.IntN(lostIn) == 0 {
				return ErrLost
			}
			return c.Get(ctx, key, o, options...)
		},
	})
}

// writes intercept the writes of a controller and note each.
func (h *History) writes(f *Faults) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return h.write(ctx, f, "create", o, func() error { return c.Create(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return h.write(ctx, f, "patch", o, func() error { return c.Patch(ctx, o, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return h.write(ctx, f, "delete", o, func() error { return c.Delete(ctx, o, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			applied, ok := o.(named)
			if !ok {
				return fmt.Errorf("%T has no name", o)
			}
			return h.write(ctx, f, "apply", applied, func() error { return c.Apply(ctx, o, options...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
		) error {
			return h.write(ctx, f, "patch "+name+" of", o, func() error { return c.SubResource(name).Patch(ctx, o, patch, options...) })
		},
	}
}

// named is what can be written.
type named interface {
	runtime.Object
	GetName() string
}

// write makes a write under the faults and notes the result.
func (h *History) write(ctx context.Context, f *Faults, verb string, o named, call func() error) error {
	gk, err := h.groupKind(o)
	if err != nil {
		return err
	}
	err = f.inject(func() error {
		if err := call(); err != nil {
			return err
		}
		return h.note(ctx, gk)
	})
	h.t.Logf("  %s %s %s: %v", verb, gk.Kind, o.GetName(), err)
	return err
}
