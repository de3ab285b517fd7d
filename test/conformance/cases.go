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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
)

// testCase is one rule of the contract.
type testCase struct {
	name, rule string
	play       func(context.Context, *scene) error
}

// cases are the rules of docs/host-classes.md.
func cases() []testCase {
	return []testCase{
		{"accept", "Accepted is reported for each generation of a class", accept},
		{"bind", "a claim gets one machine, and says which", bind},
		{"explain", "a claim that gets nothing says why", explain},
		{"argue", "arguments that the controller does not understand are refused", argue},
		{"permit", "a class answers only the namespaces that it selects", permit},
		{"leave", "claims of other controllers are left alone", leave},
		{"lock", "the finalizer is put on what was judged", lock},
		{"synchronize", "a Secret that comes late, and a rebuild with a new image, reach the machine", synchronize},
		{"confine", "Secrets are read in the namespace of the claim only", confine},
		{"power", "poweredOn is followed and reported", power},
		{"hold", "a machine is off while an annotation holds it off", hold},
		{"empty", "an image is written only to a machine that is to be on", empty},
		{"pause", "nothing happens to a claim that is paused", pause},
		{"keep", "a claim keeps its machine, whatever becomes of its class", keep},
		{"move", "the machine of a claim that was moved away is kept", move},
		{"release", "a claim goes when its data is gone", release},
		{"crash", "a controller may die with any write", dieWithEachWrite},
	}
}

// accepted waits until the class is accepted, or refused, as it is now.
func (s *scene) accepted(ctx context.Context, status metav1.ConditionStatus) error {
	return s.await(ctx, fmt.Sprintf("condition Accepted=%s of HostClaimClass %s", status, s.class.Name), func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(s.class), s.class); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(s.class.Status.Conditions, hostclaimv1.AcceptedCondition)
		switch {
		case condition == nil:
			return errors.New("it has no condition Accepted")
		case condition.Status != status || condition.ObservedGeneration != s.class.Generation:
			return fmt.Errorf("it is %s for generation %d, and the class has %d", condition.Status, condition.ObservedGeneration, s.class.Generation)
		case status == metav1.ConditionFalse && condition.Message == "":
			return errors.New("it does not say what is wrong")
		default:
			return nil
		}
	})
}

func accept(ctx context.Context, s *scene) error {
	if err := s.accepted(ctx, metav1.ConditionTrue); err != nil {
		return err
	}
	if s.controller.WrongParameters == "" {
		return nil
	}
	right := s.class.Spec.Parameters
	wrong := &runtime.RawExtension{Raw: []byte(s.controller.WrongParameters)}
	if err := s.edit(ctx, s.class, func() { s.class.Spec.Parameters = wrong }); err != nil {
		return err
	}
	if err := s.accepted(ctx, metav1.ConditionFalse); err != nil {
		return err
	}
	claim, err := s.claim(ctx, "machine")
	if err != nil {
		return err
	}
	if err := s.refused(ctx, claim); err != nil {
		return err
	}
	if err := s.edit(ctx, s.class, func() { s.class.Spec.Parameters = right }); err != nil {
		return err
	}
	if err := s.accepted(ctx, metav1.ConditionTrue); err != nil {
		return err
	}
	_, err = s.serve(ctx, claim)
	return err
}

// refused waits until a claim says why it gets nothing, and sees that it gets nothing.
func (s *scene) refused(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	if err := s.says(ctx, claim, bmov1alpha1.AssociatedCondition, metav1.ConditionFalse); err != nil {
		return err
	}
	return s.stays(ctx, s.untouched(claim))
}

func bind(ctx context.Context, s *scene) error {
	claim, _, err := s.served(ctx, "machine")
	if err != nil {
		return err
	}
	if !claim.Status.PoweredOn {
		return errors.New("status.poweredOn is false of a claim that is Ready")
	}
	if err := s.published(ctx, claim); err != nil {
		return err
	}
	empty, err := s.claim(ctx, "without-image", func(c *bmov1alpha1.HostClaim) { c.Spec.Image, c.Spec.UserData = nil, nil })
	if err != nil {
		return err
	}
	if err := s.says(ctx, empty, bmov1alpha1.AvailableForProvisioningCondition, metav1.ConditionTrue); err != nil {
		return err
	}
	if empty.Status.BareMetalHost == nil || *empty.Status.BareMetalHost == *claim.Status.BareMetalHost {
		return fmt.Errorf("one claim has machine %v, the other %v", claim.Status.BareMetalHost, empty.Status.BareMetalHost)
	}
	return nil
}

// published returns an error if a claim does not name HardwareData of its own.
func (s *scene) published(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	published := claim.Status.HardwareData
	if published == nil || published.Namespace != claim.Namespace {
		return fmt.Errorf("status.hardwareData is %v: publish HardwareData in the namespace of the claim, and name it", published)
	}
	hardware := &bmov1alpha1.HardwareData{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: published.Namespace, Name: published.Name}, hardware); err != nil {
		return fmt.Errorf("status.hardwareData: %w", err)
	}
	if !claims.OwnedBy(hardware, claim.UID) || hardware.Spec.HardwareDetails == nil {
		return fmt.Errorf("HardwareData %s is empty, or the claim is no owner of it: publish what the machine has, owned by the claim", hardware.Name)
	}
	if hardware.Labels[infrav1.ClaimUIDLabel] != string(claim.UID) {
		return fmt.Errorf("HardwareData %s lacks label %s with the UID of the claim: without it, no other cluster reads it",
			hardware.Name, infrav1.ClaimUIDLabel)
	}
	if given := *claim.Status.BareMetalHost; hardware.Annotations[infrav1.HostNameAnnotation] != given.Name ||
		hardware.Annotations[infrav1.HostNamespaceAnnotation] != given.Namespace {
		return fmt.Errorf("HardwareData %s does not say by annotations %s and %s whose it is: data templates ask for machine %s/%s",
			hardware.Name, infrav1.HostNameAnnotation, infrav1.HostNamespaceAnnotation, given.Namespace, given.Name)
	}
	return nil
}

func explain(ctx context.Context, s *scene) error {
	if s.controller.Spoil == nil {
		return fmt.Errorf("%w: no claim is known that cannot be satisfied", errSkip)
	}
	claim, err := s.claim(ctx, "machine", s.controller.Spoil)
	if err != nil {
		return err
	}
	if err := s.says(ctx, claim, bmov1alpha1.AssociatedCondition, metav1.ConditionFalse); err != nil {
		return err
	}
	machines, err := s.machinesOf(ctx, claim.UID)
	if len(machines) > 0 {
		err = fmt.Errorf("a claim says that it has no machine, and has %v", machines)
	}
	return err
}

func argue(ctx context.Context, s *scene) error {
	for name, arguments := range map[string]string{"number": `{"cores": 8}`, "unknown": s.controller.WrongArguments} {
		if arguments == "" {
			continue
		}
		claim, err := s.claim(ctx, name, func(c *bmov1alpha1.HostClaim) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.ClassArgumentsAnnotation, arguments)
		})
		if err != nil {
			return err
		}
		if err := s.refused(ctx, claim); err != nil {
			return err
		}
		if said := meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.AssociatedCondition); said.Reason != infrav1.InvalidClassArgumentsReason {
			return fmt.Errorf("a claim with arguments %s is told %s: %s", arguments, said.Reason, said.Message)
		}
		if err := s.edit(ctx, claim, func() { delete(claim.Annotations, infrav1.ClassArgumentsAnnotation) }); err != nil {
			return err
		}
		if _, err := s.serve(ctx, claim); err != nil {
			return err
		}
	}
	return nil
}

func permit(ctx context.Context, s *scene) error {
	const tier = "conformance.example.com/tier"
	if err := s.edit(ctx, s.class, func() {
		s.class.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{tier: "gold"}}
	}); err != nil {
		return err
	}
	if err := s.accepted(ctx, metav1.ConditionTrue); err != nil {
		return err
	}
	claim, err := s.claim(ctx, "machine")
	if err != nil {
		return err
	}
	if err := s.stays(ctx, s.untouched(claim)); err != nil {
		return err
	}
	if err := s.refused(ctx, claim); err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if err := s.edit(ctx, ns, func() { ns.Labels[tier] = "gold" }); err != nil {
		return err
	}
	_, err = s.serve(ctx, claim)
	return err
}

func synchronize(ctx context.Context, s *scene) error {
	claim, err := s.claim(ctx, "machine", func(c *bmov1alpha1.HostClaim) { c.Spec.UserData.Name = "late" })
	if err != nil {
		return err
	}
	if err := s.says(ctx, claim, bmov1alpha1.SynchronizedCondition, metav1.ConditionFalse); err != nil {
		return err
	}
	if err := s.client.Create(ctx, bootSecret(s.namespace, "late")); err != nil {
		return err
	}
	before, err := s.serve(ctx, claim)
	if err != nil {
		return err
	}
	const second = "https://images.example.com/second.raw"
	if err := s.edit(ctx, claim, func() { claim.Spec.Image.URL = second }); err != nil {
		return err
	}
	if err := s.stays(ctx, s.hasStill(claim, before)); err != nil {
		return fmt.Errorf("as the image was changed: %w: write it when annotation %s has a new text", err, infrav1.RebuildAnnotation)
	}
	err = s.edit(ctx, claim, func() { metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.RebuildAnnotation, "second") })
	if err != nil {
		return err
	}
	before.Image = second
	if err := s.await(ctx, "the second image on machine "+before.Name, s.hasStill(claim, before)); err != nil {
		return err
	}
	if err := s.edit(ctx, claim, func() {
		claim.Spec.Image.URL = "https://images.example.com/third.raw"
		delete(claim.Annotations, infrav1.RebuildAnnotation)
	}); err != nil {
		return err
	}
	if err := s.stays(ctx, s.hasStill(claim, before)); err != nil {
		return fmt.Errorf("as annotation %s was taken away: %w: only a new text asks for another image", infrav1.RebuildAnnotation, err)
	}
	return nil
}

// hasStill returns a check that fails if a claim has anything else than a machine.
func (s *scene) hasStill(claim *bmov1alpha1.HostClaim, machine Machine) func(context.Context) error {
	return func(ctx context.Context) error {
		machines, err := s.machinesOf(ctx, claim.UID)
		if err == nil && (len(machines) != 1 || machines[0] != machine) {
			err = fmt.Errorf("a claim had machine %v, and has %v", machine, machines)
		}
		return err
	}
}

func confine(ctx context.Context, s *scene) error {
	elsewhere := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "conformance-of-others-"}}
	if err := s.client.Create(ctx, elsewhere); err != nil {
		return err
	}
	if err := s.client.Create(ctx, bootSecret(elsewhere.Name, "theirs")); err != nil {
		return err
	}
	theirs := &corev1.SecretReference{Namespace: elsewhere.Name, Name: "theirs"}
	for name, change := range map[string]func(*bmov1alpha1.HostClaim){
		"user-data":    func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = theirs },
		"meta-data":    func(c *bmov1alpha1.HostClaim) { c.Spec.MetaData = theirs },
		"network-data": func(c *bmov1alpha1.HostClaim) { c.Spec.NetworkData = theirs },
	} {
		claim, err := s.claim(ctx, name, change)
		if err != nil {
			return err
		}
		if err := s.says(ctx, claim, bmov1alpha1.SynchronizedCondition, metav1.ConditionFalse); err != nil {
			return err
		}
	}
	return s.stays(ctx, func(context.Context) error {
		for _, c := range s.proxy.seen() {
			if err := confined(c, elsewhere.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// confined returns an error if a call reads Secrets of a namespace that is another's.
func confined(c call, theirs string) error {
	selector, err := labels.Parse(c.LabelSelector)
	switch {
	case c.Resource != "secrets" || c.metadataOnly || c.writes():
		return nil
	case c.Namespace == theirs:
		return fmt.Errorf("%s of Secret %q in namespace %s, which is another's: refuse the reference", c.Verb, c.Name, c.Namespace)
	case c.Namespace == "" && (err != nil || selector.Matches(labels.Set{})):
		return fmt.Errorf("%s of the Secrets of all namespaces: read those that claims name", c.Verb)
	default:
		return nil
	}
}

// setPaused pauses a claim, as the provider does with the claims of a Cluster that is paused, or unpauses it.
func (s *scene) setPaused(ctx context.Context, claim *bmov1alpha1.HostClaim, on bool) error {
	return s.edit(ctx, claim, func() {
		if on {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, clusterv1.PausedAnnotation, "")
		} else {
			delete(claim.Annotations, clusterv1.PausedAnnotation)
		}
	})
}

func pause(ctx context.Context, s *scene) error {
	own, err := s.claim(ctx, "own")
	if err != nil {
		return err
	}
	asleep, err := s.claim(ctx, "asleep", func(c *bmov1alpha1.HostClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.PausedAnnotation, "")
	})
	if err != nil {
		return err
	}
	before, err := s.serve(ctx, own)
	if err != nil {
		return err
	}
	if err := s.stays(ctx, s.untouched(asleep)); err != nil {
		return err
	}
	for _, change := range []func() error{
		func() error { return s.setPaused(ctx, own, true) },
		func() error { return s.edit(ctx, own, func() { own.Spec.PoweredOn = false }) },
		func() error { return s.client.Delete(ctx, own) },
	} {
		if err := change(); err != nil {
			return err
		}
		if err := s.stays(ctx, func(ctx context.Context) error { return s.asleep(ctx, own, before) }); err != nil {
			return err
		}
	}
	if err := errors.Join(s.setPaused(ctx, own, false), s.setPaused(ctx, asleep, false)); err != nil {
		return err
	}
	if err := s.release(ctx, own); err != nil {
		return err
	}
	_, err = s.serve(ctx, asleep)
	return err
}

// asleep returns an error if a paused claim went, or something became of its machine.
func (s *scene) asleep(ctx context.Context, claim *bmov1alpha1.HostClaim, before Machine) error {
	now := &bmov1alpha1.HostClaim{}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), now); err != nil {
		return fmt.Errorf("a paused claim: %w", err)
	}
	if !now.Status.PoweredOn {
		return errors.New("a paused claim reports that it was powered off")
	}
	return s.hasStill(claim, before)(ctx)
}

func keep(ctx context.Context, s *scene) error {
	claim, before, err := s.served(ctx, "machine")
	if err != nil {
		return err
	}
	for _, change := range []func() error{
		func() error {
			return s.edit(ctx, s.class, func() { s.class.Spec.NamespaceSelector = named("another") })
		},
		func() error { return s.client.Delete(ctx, s.class) },
		func() error {
			s.class = s.newClass(another)
			return errors.Join(s.client.Create(ctx, s.class), s.acceptFor(ctx, s.class))
		},
	} {
		if err := change(); err != nil {
			return err
		}
		if err := s.restart(ctx, crash{}); err != nil { // a controller may look anew as it starts
			return err
		}
		if err := s.tellsOfClass(ctx, claim); err != nil {
			return err
		}
		if err := s.stays(ctx, s.hasStill(claim, before)); err != nil {
			return err
		}
	}
	if !controllerutil.ContainsFinalizer(claim, s.controller.Finalizer) {
		return fmt.Errorf("a claim has its machine, and lost the finalizer %s", s.controller.Finalizer)
	}
	return nil
}

// tellsOfClass waits until Synchronized has a message. It brings the claim up to date.
func (s *scene) tellsOfClass(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	return s.await(ctx, "a message of Synchronized about the class", func(ctx context.Context) error {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		c := meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.SynchronizedCondition)
		if err == nil && (c == nil || c.Message == "") {
			err = errors.New("it has none")
		}
		return err
	})
}

// move takes a claim away as clusterctl does: it is paused, and leaves without its finalizers.
func move(ctx context.Context, s *scene) error {
	claim, before, err := s.served(ctx, "machine")
	if err != nil {
		return err
	}
	if err := s.setPaused(ctx, claim, true); err != nil {
		return err
	}
	if err := s.edit(ctx, claim, func() { claim.Finalizers = nil }); err != nil {
		return err
	}
	if err := s.client.Delete(ctx, claim); client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := s.restart(ctx, crash{}); err != nil {
		return err
	}
	if _, _, err := s.served(ctx, "stranger"); err != nil {
		return err
	}
	if err := s.stays(ctx, s.hasStill(claim, before)); err != nil {
		return fmt.Errorf("a claim was moved away: %w", err)
	}
	return nil
}

func release(ctx context.Context, s *scene) error {
	claim, _, err := s.served(ctx, "machine")
	if err != nil {
		return err
	}
	if err := s.release(ctx, claim); err != nil {
		return err
	}
	again, _, err := s.served(ctx, "machine")
	if err != nil {
		return err
	}
	return s.published(ctx, again)
}
