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
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
)

// scene is a case that is played: a namespace with a class and a Secret, and a controller that runs.
type scene struct {
	*suite

	namespace string
	class     *hostclaimv1.HostClaimClass
	stop      func() error
	giveUp    context.CancelFunc

	mu sync.Mutex
	// wrong is what the controller did that it never may, as it was first seen.
	wrong error
}

// play plays a case. What the controller does wrong in the background counts first, since the rest may follow from it.
func (s *suite) play(ctx context.Context, c testCase) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sc := &scene{suite: s, giveUp: cancel}
	if err := sc.setUp(ctx); err != nil {
		return fmt.Errorf("prepare the case: %w", err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		sc.watch(ctx)
	}()
	s.proxy.reset(crash{})
	sc.start(ctx)
	err := c.play(ctx, sc)
	err = errors.Join(err, sc.leaks(ctx), sc.clean(ctx))
	stopped := sc.stop()
	cancel()
	<-watched
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return cmp.Or(sc.wrong, err, stopped)
}

func (s *scene) setUp(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "conformance-"}}
	if err := s.client.Create(ctx, ns); err != nil {
		return err
	}
	s.namespace = ns.Name
	if s.controller.Prepare != nil {
		if err := s.controller.Prepare(ctx, s.namespace); err != nil {
			return err
		}
	}
	if err := s.client.Create(ctx, bootSecret(s.namespace, "boot")); err != nil {
		return err
	}
	s.class = s.newClass(s.controller.Name)
	return s.client.Create(ctx, s.class)
}

// newClass is a class for the namespace, with its name.
func (s *scene) newClass(controller string) *hostclaimv1.HostClaimClass {
	class := &hostclaimv1.HostClaimClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec:       hostclaimv1.HostClaimClassSpec{ControllerName: controller, NamespaceSelector: named(s.namespace)},
	}
	if controller == s.controller.Name && s.controller.Parameters != "" {
		class.Spec.Parameters = &runtime.RawExtension{Raw: []byte(s.controller.Parameters)}
	}
	return class
}

// named selects the namespace of a name.
func named(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

// start runs the controller, and sets stop to what ends it. If it ends by itself, the case has failed.
func (s *scene) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	ended, died := make(chan error, 1), s.proxy.died()
	go func() {
		err := s.controller.Start(ctx, s.proxy.config())
		select {
		case <-ctx.Done():
		case <-died:
		default:
			s.note(fmt.Errorf("the controller ended by itself: %w", errors.Join(err, errEnded)))
			s.giveUp()
		}
		ended <- err
	}()
	s.stop = func() error {
		cancel()
		s.proxy.server.CloseClientConnections()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the controller ended: %w", err)
		}
		return nil
	}
}

var errEnded = errors.New("it is to run until it is stopped")

// clean deletes what the case has made, and waits until all is given back.
func (s *scene) clean(ctx context.Context) (failed error) {
	claims := &bmov1alpha1.HostClaimList{}
	if err := s.client.List(ctx, claims, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if paused(claim) {
			failed = errors.Join(failed, s.setPaused(ctx, claim, false))
		}
		failed = errors.Join(failed, s.release(ctx, claim))
	}
	for _, o := range []client.Object{s.class, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}} {
		failed = errors.Join(failed, client.IgnoreNotFound(s.client.Delete(ctx, o)))
	}
	return failed
}

// leaks returns an error if an event or HardwareData shows what is in a Secret.
func (s *scene) leaks(ctx context.Context) error {
	for _, list := range []client.ObjectList{&corev1.EventList{}, &bmov1alpha1.HardwareDataList{}} {
		if err := s.client.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		if leaky, err := shows(list); err != nil || leaky {
			return errors.Join(err, fmt.Errorf("a %T shows what is in a Secret: keep secrets out of it", list))
		}
	}
	return nil
}

// shows reports whether an object has what is in the Secrets, as it is or in base64.
func shows(o any) (bool, error) {
	text, err := json.Marshal(o)
	return ShowsSecret(text), err
}

// ShowsSecret reports whether a text, as what the controller logs, has what is in the Secrets of the suite.
func ShowsSecret(text []byte) bool {
	encoded := base64.StdEncoding.EncodeToString(bootSecret("", "").Data["value"])
	return bytes.Contains(text, []byte(marker)) || bytes.Contains(text, []byte(encoded))
}

// watch looks at each version of the claims of the namespace, until the context ends.
func (s *scene) watch(ctx context.Context) {
	for ctx.Err() == nil {
		stream, err := s.client.Watch(ctx, &bmov1alpha1.HostClaimList{}, client.InNamespace(s.namespace))
		if ctx.Err() != nil { // the case is over
			return
		}
		if err != nil {
			s.note(client.IgnoreNotFound(err))
			return
		}
		for event := range stream.ResultChan() {
			if claim, ok := event.Object.(*bmov1alpha1.HostClaim); ok {
				s.note(s.judge(claim))
			}
		}
		stream.Stop()
	}
}

// note keeps the first thing that the controller did wrong.
func (s *scene) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong == nil {
		s.wrong = err
	}
}

// judge returns an error if a claim shows what it never may.
func (s *scene) judge(claim *bmov1alpha1.HostClaim) error {
	if leaky, err := shows(claim); err != nil || leaky {
		return errors.Join(err, fmt.Errorf("HostClaim %s shows what is in its Secret: keep secrets out of its metadata and status", claim.Name))
	}
	if paused(claim) || !claim.DeletionTimestamp.IsZero() || controllerutil.ContainsFinalizer(claim, s.controller.Finalizer) {
		return nil
	}
	if meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.AssociatedCondition) {
		return s.early(claim)
	}
	return nil
}

func (s *scene) early(claim *bmov1alpha1.HostClaim) error {
	return fmt.Errorf("HostClaim %s was given a machine without the finalizer %s: put it on first", claim.Name, s.controller.Finalizer)
}

func paused(claim *bmov1alpha1.HostClaim) bool {
	_, found := claim.Annotations[clusterv1.PausedAnnotation]
	return found
}

// claim creates a claim of the class.
func (s *scene) claim(ctx context.Context, name string, changes ...func(*bmov1alpha1.HostClaim)) (*bmov1alpha1.HostClaim, error) {
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: name, Labels: map[string]string{infrav1.ClassLabel: s.class.Name},
		},
		Spec: bmov1alpha1.HostClaimSpec{
			PoweredOn: true, UserData: &corev1.SecretReference{Name: "boot"},
			Image: &bmov1alpha1.Image{URL: "https://images.example.com/first.raw", Checksum: "abc123"},
		},
	}
	if s.controller.Adapt != nil {
		s.controller.Adapt(claim)
	}
	for _, change := range changes {
		change(claim)
	}
	return claim, s.client.Create(ctx, claim)
}

// edit changes an object as it is now.
func (s *scene) edit(ctx context.Context, o client.Object, change func()) error {
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", o)
	}
	change()
	return s.client.Patch(ctx, o, client.MergeFrom(before))
}

// await waits until a check finds nothing wrong.
func (s *scene) await(ctx context.Context, what string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, s.options.Patience, true, func(context.Context) (bool, error) {
		last = check(ctx) // which the end of patience does not fail
		return last == nil, nil
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s did not come about within %s: %w", what, s.options.Patience, errors.Join(last, ctx.Err()))
}

// stays returns what a check finds wrong within the time of stillness, or at its end.
func (s *scene) stays(ctx context.Context, check func(context.Context) error) error {
	var wrong error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, s.options.Stillness, true, func(context.Context) (bool, error) {
		wrong = check(ctx) // which the end of the stillness does not fail
		return wrong != nil, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return check(ctx) // a check may take as long as the stillness
	}
	return errors.Join(wrong, ctx.Err())
}

// says waits until a claim has a condition with the status, about its spec as it is now. It brings the claim up to date.
func (s *scene) says(ctx context.Context, claim *bmov1alpha1.HostClaim, kind string, status metav1.ConditionStatus) error {
	return s.await(ctx, fmt.Sprintf("condition %s=%s of HostClaim %s", kind, status, claim.Name), func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(claim.Status.Conditions, kind)
		switch {
		case condition == nil:
			return fmt.Errorf("it has no condition %s", kind)
		case condition.Status != status:
			return fmt.Errorf("it is %s, reason %s: %s", condition.Status, condition.Reason, condition.Message)
		case condition.ObservedGeneration != claim.Generation:
			return fmt.Errorf("it is about generation %d, and the claim has %d", condition.ObservedGeneration, claim.Generation)
		case condition.Reason == "" || status == metav1.ConditionFalse && condition.Message == "":
			return errors.New("it has no reason, or no message")
		default:
			return nil
		}
	})
}

// served creates a claim, and waits until it has a machine that runs.
func (s *scene) served(ctx context.Context, name string) (*bmov1alpha1.HostClaim, Machine, error) {
	claim, err := s.claim(ctx, name)
	if err != nil {
		return nil, Machine{}, err
	}
	machine, err := s.serve(ctx, claim)
	return claim, machine, err
}

// serve waits until a claim has a machine that runs, and returns it.
func (s *scene) serve(ctx context.Context, claim *bmov1alpha1.HostClaim) (Machine, error) {
	kinds := []string{bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition, bmov1alpha1.ProvisionedCondition, infrav1.ReadyCondition}
	for _, kind := range kinds {
		if err := s.says(ctx, claim, kind, metav1.ConditionTrue); err != nil {
			return Machine{}, err
		}
	}
	if claim.Status.BareMetalHost == nil {
		return Machine{}, errors.New("status.bareMetalHost is missing of a claim that is Ready")
	}
	machines, err := s.machinesOf(ctx, claim.UID)
	if err != nil {
		return Machine{}, err
	}
	want := claim.Status.BareMetalHost.Namespace + "/" + claim.Status.BareMetalHost.Name
	if len(machines) != 1 || machines[0].Name != want {
		return Machine{}, fmt.Errorf("HostClaim %s has machines %v, and says that it has %s", claim.Name, machines, want)
	}
	if !machines[0].HoldsData {
		return Machine{}, fmt.Errorf("machine %s runs for HostClaim %s and is said to hold no data: have Machines tell so", want, claim.Name)
	}
	return machines[0], nil
}

// machinesOf are the machines that a claim has.
func (s *scene) machinesOf(ctx context.Context, claim types.UID) (of []Machine, err error) {
	machines, err := s.controller.Machines(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the machines: %w", err)
	}
	for _, machine := range machines {
		if machine.Claim == claim {
			of = append(of, machine)
		}
	}
	return of, nil
}

// untouched returns a check that fails if the controller did something to a claim that is not its own to answer.
func (s *scene) untouched(claim *bmov1alpha1.HostClaim) func(context.Context) error {
	return func(ctx context.Context) error {
		now := &bmov1alpha1.HostClaim{}
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), now); err != nil {
			return err
		}
		machines, err := s.machinesOf(ctx, claim.UID)
		switch {
		case err != nil:
			return err
		case controllerutil.ContainsFinalizer(now, s.controller.Finalizer):
			return fmt.Errorf("HostClaim %s got the finalizer %s", claim.Name, s.controller.Finalizer)
		case len(machines) > 0:
			return fmt.Errorf("HostClaim %s got machine %s", claim.Name, machines[0].Name)
		default:
			return nil
		}
	}
}

// release deletes a claim, and looks at its machines before the finalizer is taken off, and when the claim is gone.
func (s *scene) release(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	key, uid := client.ObjectKeyFromObject(claim), claim.UID
	had, err := s.machinesOf(ctx, uid)
	if err != nil {
		return err
	}
	s.proxy.onCall(func(c call) {
		if c.on("hostclaims", key.Namespace, key.Name) && c.drops(s.controller.Finalizer) {
			s.note(s.clear(ctx, uid, had))
		}
	})
	if err := client.IgnoreNotFound(s.client.Delete(ctx, claim)); err != nil {
		return err
	}
	err = s.await(ctx, "the end of HostClaim "+key.Name, func(ctx context.Context) error {
		now := &bmov1alpha1.HostClaim{}
		err := s.client.Get(ctx, key, now)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("it is there, with finalizers %v", now.Finalizers))
	})
	if err != nil {
		return err
	}
	return s.clear(ctx, uid, had)
}

// clear returns an error if something is left of a claim that goes, on the machines that it had or has.
func (s *scene) clear(ctx context.Context, claim types.UID, had []Machine) error {
	machines, err := s.controller.Machines(ctx)
	if err != nil {
		return err
	}
	for _, machine := range machines {
		for _, before := range had {
			if machine.Name == before.Name && machine.HoldsData && (machine.Claim == "" || machine.Claim == claim) {
				return fmt.Errorf("machine %s holds the data of a claim that is gone: take the finalizer off when it is erased", machine.Name)
			}
		}
		if machine.Claim == claim {
			return fmt.Errorf("machine %s belongs to a claim that is gone: free it before the finalizer is taken off", machine.Name)
		}
	}
	return nil
}

// isBareMetal reports whether the controller also answers claims without a class.
func (s *scene) isBareMetal() bool { return s.controller.Name == hostclass.BareMetal().Name }
