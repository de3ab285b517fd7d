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

package conformance

import (
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// dieWithEachWrite plays the life of a claim with a controller that stays, and then with one that dies with each of its
// writes, before the write arrives and after it. Another one takes its place.
func dieWithEachWrite(ctx context.Context, s *scene) error {
	if err := s.accepted(ctx, "True"); err != nil {
		return err
	}
	if err := s.restart(ctx, crash{}); err != nil {
		return err
	}
	if err := s.life(ctx, "healthy"); err != nil {
		return err
	}
	writes := s.proxy.writes()
	s.options.Log(fmt.Sprintf("crash: the life of a claim takes %d writes", writes))
	for at := 1; at <= writes; at++ {
		for _, arrives := range []bool{true, false} {
			if err := s.lifeWith(ctx, crash{at: at, arrives: arrives}); err != nil {
				return fmt.Errorf("the controller died with write %d, which arrived: %t: %w", at, arrives, err)
			}
		}
	}
	return nil
}

// life makes a claim, waits until it is served, and deletes it.
func (s *scene) life(ctx context.Context, name string) error {
	claim, _, err := s.served(ctx, name)
	if err != nil {
		return err
	}
	return s.release(ctx, claim)
}

// lifeWith is life with a controller that dies.
func (s *scene) lifeWith(ctx context.Context, c crash) error {
	if err := s.restart(ctx, c); err != nil {
		return err
	}
	dies, cancel := context.WithCancel(ctx)
	replaced := make(chan error, 1)
	died := s.proxy.died()
	go func() {
		select {
		case <-died:
			replaced <- errors.Join(s.begun(ctx), s.restart(ctx, crash{}))
		case <-dies.Done():
			replaced <- nil
		}
	}()
	err := s.life(ctx, fmt.Sprintf("dies-%d-%t", c.at, c.arrives))
	select {
	case <-died:
	default:
		s.options.Log(fmt.Sprintf("crash: a life had fewer than %d writes", c.at))
	}
	cancel()
	return errors.Join(err, <-replaced)
}

// begun returns an error if a claim has a machine without the finalizer: it could go, and nothing would know of the
// machine.
func (s *scene) begun(ctx context.Context) error {
	claims := &bmov1alpha1.HostClaimList{}
	if err := s.client.List(ctx, claims, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		machines, err := s.machinesOf(ctx, claim.UID)
		if err != nil {
			return err
		}
		if len(machines) > 0 && !controllerutil.ContainsFinalizer(claim, s.controller.Finalizer) {
			return s.early(claim)
		}
	}
	return nil
}

// restart ends the controller, however it does, and starts it anew.
func (s *scene) restart(ctx context.Context, c crash) error {
	if err := s.stop(); errors.Is(err, ErrShowsSecret) {
		s.note(err)
	} else if err != nil {
		s.options.Log(err.Error())
	}
	s.proxy.reset(c)
	s.start(ctx)
	return ctx.Err()
}
