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
	"strings"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// another is a controller that the suite plays: it answers nothing.
const (
	another          = "conformance.example.com/another"
	anotherFinalizer = "hostclaim.metal3.io/conformance.example.com.another"
)

// addAnother creates a class of another controller, which accepts it.
func (s *scene) addAnother(ctx context.Context) (*hostclaimv1.HostClaimClass, error) {
	class := s.newClass(another)
	class.Name += "-another"
	if err := s.client.Create(ctx, class); err != nil {
		return nil, err
	}
	return class, s.acceptFor(ctx, class)
}

// acceptFor does what the controller of a class does that does not run.
func (s *scene) acceptFor(ctx context.Context, class *hostclaimv1.HostClaimClass) error {
	before := class.DeepCopy()
	meta.SetStatusCondition(&class.Status.Conditions, metav1.Condition{
		Type: hostclaimv1.AcceptedCondition, Status: metav1.ConditionTrue, Reason: hostclaimv1.AcceptedReason,
		ObservedGeneration: class.Generation,
	})
	return s.client.Status().Patch(ctx, class, client.MergeFrom(before))
}

func leave(ctx context.Context, s *scene) error {
	class, err := s.addAnother(ctx)
	if err != nil {
		return err
	}
	defer func() { s.note(client.IgnoreNotFound(s.client.Delete(ctx, class))) }()
	others := map[string]func(*bmov1alpha1.HostClaim){
		"of-another-class": func(c *bmov1alpha1.HostClaim) { c.Labels[infrav1.ClassLabel] = class.Name },
		"taken-by-another": func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{anotherFinalizer} },
	}
	if !s.isBareMetal() {
		others["without-class"] = func(c *bmov1alpha1.HostClaim) { delete(c.Labels, infrav1.ClassLabel) }
		others["with-a-server"] = func(c *bmov1alpha1.HostClaim) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.BoundClaimUIDAnnotation, "before")
		}
	}
	var left []*bmov1alpha1.HostClaim
	for name, change := range others {
		claim, err := s.claim(ctx, name, change)
		if err != nil {
			return err
		}
		left = append(left, claim)
	}
	_, _, err = s.served(ctx, "own") // so that the controller has seen the others
	if err == nil {
		err = s.stays(ctx, s.allUntouched(left))
	}
	for _, claim := range left {
		gone := s.edit(ctx, claim, func() { controllerutil.RemoveFinalizer(claim, anotherFinalizer) })
		err = errors.Join(err, gone)
	}
	return err
}

// allUntouched is untouched for several claims, whose status is another controller's, too.
func (s *scene) allUntouched(claims []*bmov1alpha1.HostClaim) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, claim := range claims {
			if err := s.untouched(claim)(ctx); err != nil {
				return err
			}
			now := &bmov1alpha1.HostClaim{}
			if err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), now); err != nil {
				return err
			}
			if len(now.Status.Conditions) > 0 || now.Status.BareMetalHost != nil {
				return fmt.Errorf("HostClaim %s got a status, which is for another controller to write", claim.Name)
			}
		}
		return nil
	}
}

// lock gives a claim to another class in the moment in which the controller puts its finalizer on it.
func lock(ctx context.Context, s *scene) error {
	class, err := s.addAnother(ctx)
	if err != nil {
		return err
	}
	defer func() { s.note(client.IgnoreNotFound(s.client.Delete(ctx, class))) }()
	var once sync.Once
	s.proxy.onCall(func(c call) {
		if !c.writes() || !c.on("hostclaims", s.namespace, "machine") || !strings.Contains(string(c.body), s.controller.Finalizer) {
			return
		}
		once.Do(func() {
			claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "machine"}}
			s.note(s.edit(ctx, claim, func() { claim.Labels[infrav1.ClassLabel] = class.Name }))
		})
	})
	claim, err := s.claim(ctx, "machine")
	if err != nil {
		return err
	}
	err = s.await(ctx, "a change of class while the finalizer is put on", func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Labels[infrav1.ClassLabel] != class.Name {
			return fmt.Errorf("the controller has not written the finalizer %s", s.controller.Finalizer)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.stays(ctx, s.untouched(claim)); err != nil {
		return fmt.Errorf("%w, although its class had changed since it was read: lock the write on resourceVersion", err)
	}
	return nil
}
