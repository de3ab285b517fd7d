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

// Package inplace serves Cluster API's hooks for updates in place. It reads the objects of the
// Machine that a request names, decides in plan.go and plan_cover.go, and carries out; the servers are
// written anew by the machine controller. Cluster API calls it repeatedly until an update is done;
// nothing else wakes it. It takes only the name of a Machine from a request: what is to be done
// follows from the objects in the API server.
package inplace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

const (
	// askAgain is how long Cluster API is asked to wait before its next call. An extension
	// cannot wake Cluster API, which polls for as long as an update lasts.
	askAgain = 10 * time.Second
	// maxSteps are those of an update, and one more for a name that was written again.
	maxSteps = 7
	// updateHook is the name of the hook in the list of those that are pending.
	updateHook = "UpdateMachine"
)

// Extension answers the hooks.
type Extension struct {
	// Client writes.
	Client client.Client
	// Live reads past the cache: a step is decided on what the one before has written.
	Live client.Reader
}

// objects are those of one Machine. Those that do not exist, or are of another kind, are nil.
type objects struct {
	machine *clusterv1.Machine
	infra   *infrav1.Metal3Machine
	config  *bootstrapv1.KubeadmConfig
}

// advance takes one step after the other until there is none to take now.
func (e *Extension) advance(ctx context.Context, machine client.ObjectKey) (updatePlan, error) {
	var plan updatePlan
	asked := false
	for range maxSteps {
		o, err := e.read(ctx, machine)
		if err != nil {
			return plan, err
		}
		facts := o.observed()
		facts.Asked = asked
		plan = nextPlan(facts)
		switch plan.Step {
		case stepWait, stepDone, stepRefuse:
			return plan, nil
		}
		ctrl.LoggerFrom(ctx).Info("Taking a step of an update in place", "step", plan.Step)
		if err := e.act(ctx, o, plan.Step); apierrors.IsConflict(err) {
			continue
		} else if err != nil {
			return plan, fmt.Errorf("step %s: %w", plan.Step, err)
		}
		asked = asked || plan.Step == stepAsk
	}
	return plan, nil
}

// read reads the objects of a Machine.
func (e *Extension) read(ctx context.Context, key client.ObjectKey) (o objects, err error) {
	if err := find(ctx, e.Live, key, &clusterv1.Machine{}, &o.machine); err != nil || o.machine == nil {
		return o, err
	}
	if ref := o.machine.Spec.InfrastructureRef; ref.APIGroup == infrav1.GroupName && ref.Kind == "Metal3Machine" {
		err = find(ctx, e.Live, client.ObjectKey{Namespace: key.Namespace, Name: ref.Name}, &infrav1.Metal3Machine{}, &o.infra)
	}
	if ref := o.machine.Spec.Bootstrap.ConfigRef; ref.APIGroup == bootstrapv1.GroupVersion.Group && ref.Kind == "KubeadmConfig" && err == nil {
		err = find(ctx, e.Live, client.ObjectKey{Namespace: key.Namespace, Name: ref.Name}, &bootstrapv1.KubeadmConfig{}, &o.config)
	}
	return o, err
}

// find reads an object, and keeps it if it exists.
func find[T client.Object](ctx context.Context, reader client.Reader, key client.ObjectKey, object T, kept *T) error {
	if err := reader.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read %T: %w", object, err)
	}
	*kept = object
	return nil
}

// observed are the facts that the next step depends on.
func (o objects) observed() updateFacts {
	if o.machine == nil || o.infra == nil || !metav1.IsControlledBy(o.infra, o.machine) {
		return updateFacts{}
	}
	facts := updateFacts{
		Updating:     updating(o.machine, o.infra),
		ControlPlane: util.IsControlPlaneMachine(o.machine),
		Rebuild:      o.infra.Annotations[infrav1.RebuildAnnotation],
		Rebuilt:      o.infra.Annotations[infrav1.RebuiltAnnotation],
	}
	if c := conditions.Get(o.infra, infrav1.HostClaimReadyCondition); c != nil && c.Status == metav1.ConditionFalse {
		facts.Message = c.Message
	}
	if o.config == nil || !metav1.IsControlledBy(o.config, o.machine) {
		return facts
	}
	facts.Marked = o.infra.Annotations[infrav1.HeldConfigAnnotation] == o.config.Name
	facts.Token = tokenOf(o.machine.Spec.Version, o.infra.Spec, o.config.Spec)
	pause, paused := o.config.Annotations[clusterv1.PausedAnnotation]
	held := pause == infrav1.UpdatePause
	facts.Data = dataFacts{
		Supported: true,
		Token:     o.config.Annotations[infrav1.RebuildAnnotation],
		Held:      held,
		Paused:    paused && !held,
		Made:      ptr.Deref(o.config.Status.Initialization.DataSecretCreated, false) || o.config.Status.DataSecretName != "",
		Named:     o.machine.Spec.Bootstrap.DataSecretName != nil,
	}
	return facts
}

// updating reports whether Cluster API has begun an update in place and waits for this
// extension.
func updating(machine *clusterv1.Machine, infra *infrav1.Metal3Machine) bool {
	_, begun := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	_, marked := infra.Annotations[clusterv1.UpdateInProgressAnnotation]
	pending := strings.Split(machine.Annotations[runtimev1.PendingHooksAnnotation], ",")
	return begun && marked && slices.Contains(pending, updateHook) && machine.DeletionTimestamp.IsZero()
}

// act takes one step: one write, which is locked on what the step was decided on.
func (e *Extension) act(ctx context.Context, o objects, step updateStep) error {
	machine, infra, config := o.machine.DeepCopy(), o.infra.DeepCopy(), o.config.DeepCopy()
	switch step {
	case stepMark:
		metav1.SetMetaDataAnnotation(&infra.ObjectMeta, infrav1.HeldConfigAnnotation, config.Name)
	case stepHold:
		metav1.SetMetaDataAnnotation(&config.ObjectMeta, clusterv1.PausedAnnotation, infrav1.UpdatePause)
		metav1.SetMetaDataAnnotation(&config.ObjectMeta, infrav1.RebuildAnnotation, o.observed().Token)
		config.Spec.JoinConfiguration.Discovery.BootstrapToken.Token = ""
	case stepForget:
		config.Status.Initialization.DataSecretCreated, config.Status.DataSecretName = nil, ""
	case stepUnname:
		machine.Spec.Bootstrap.DataSecretName = nil
	case stepAsk:
		metav1.SetMetaDataAnnotation(&infra.ObjectMeta, infrav1.RebuildAnnotation, o.observed().Token)
	case stepRelease:
		delete(config.Annotations, clusterv1.PausedAnnotation)
	case stepWait, stepDone, stepRefuse:
	}
	for _, change := range [][2]client.Object{{o.machine, machine}, {o.infra, infra}, {o.config, config}} {
		if err := patch.Changes(ctx, e.Client, change[0], change[1]); err != nil {
			return err
		}
	}
	return nil
}
