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
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/classes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// +kubebuilder:rbac:groups=hostclaim.metal3.io,resources=hostclaimclasses,verbs=get;list;watch

// classify finds out from the cache whether the manager answers the claim. A claim that a host names always is its own;
// one without a class that no controller answers yet gets the default class first, which decides anew.
func (r *Reconciler) classify(ctx context.Context, s *scope) (answers bool, err error) {
	if s.class, err = judge(ctx, r.Client, s.claim); err != nil {
		return false, err
	}
	if !s.class.Answers {
		return r.begun(ctx, s)
	}
	given, err := r.setDefaultClass(ctx, s.claim)
	return !given && err == nil, err
}

// begun reports whether a claim that is another controller's has a host all the same, or is about to get one: it keeps
// that host, or loses the intent, and gets no other.
func (r *Reconciler) begun(ctx context.Context, s *scope) (bool, error) {
	hosts, err := r.hostsBy(ctx, hostsByConsumer, binding.ClaimKey(s.claim))
	if err != nil || ownHost(s.claim, hosts) == nil && binding.RecordOf(s.claim) != binding.Intended {
		return false, err
	}
	s.class = hostclass.Verdict{
		Answers: true, Reason: infrav1.AnsweredByOtherReason,
		Message: "By its finalizer or its class, the claim is another controller's: delete it to have that one answer a new one",
	}
	return true, nil
}

// giveUp drops the intent of a claim that may get no host by its class. Of one that is another controller's it reports
// nothing.
func (r *Reconciler) giveUp(ctx context.Context, s *scope) error {
	r.Pool.Leave(keyOf(s.claim))
	if binding.RecordOf(s.claim) == binding.Intended {
		if err := r.resolve(ctx, s, binding.Unread); err != nil || s.host != nil {
			return err
		}
	}
	s.waits.bind = s.classWait()
	s.finished = s.class.Reason == infrav1.AnsweredByOtherReason
	return nil
}

// Serves reports whether the hostclaim manager may bind a host to a claim, or has begun to.
func Serves(ctx context.Context, reader client.Reader, claim *bmov1alpha1.HostClaim) (bool, error) {
	verdict, err := judge(ctx, reader, claim)
	return err == nil && verdict.Answers && !withheld(claim, verdict), err
}

// withheld reports whether a claim gets no host by its class, and is not ours yet: another controller may answer it as
// soon as the class is mended.
func withheld(claim *bmov1alpha1.HostClaim, verdict hostclass.Verdict) bool {
	return verdict.Reason != "" && !hostclass.BareMetal().Holds(claim)
}

func judge(ctx context.Context, reader client.Reader, claim *bmov1alpha1.HostClaim) (hostclass.Verdict, error) {
	verdict, _, err := classes.Judge(ctx, reader, hostclass.BareMetal(), claim)
	if err == nil && verdict.Answers && verdict.Reason == "" {
		verdict = judgeArguments(claim)
	}
	return verdict, err
}

// judgeArguments refuses arguments: what a claim asks of a server is in its spec.
func judgeArguments(claim *bmov1alpha1.HostClaim) hostclass.Verdict {
	verdict := hostclass.Verdict{Answers: true}
	arguments, err := hostclass.Arguments(claim)
	if err == nil && len(arguments) > 0 {
		err = fmt.Errorf("classes of servers take no arguments in annotation %s: remove it, and select servers by spec.hostSelector",
			infrav1.ClassArgumentsAnnotation)
	}
	if err != nil {
		verdict.Reason, verdict.Message = infrav1.InvalidClassArgumentsReason, err.Error()
	}
	return verdict
}

// setDefaultClass puts the default class on a claim without a class that no controller answers yet, and reports
// whether it did.
func (r *Reconciler) setDefaultClass(ctx context.Context, claim *bmov1alpha1.HostClaim) (bool, error) {
	if hostclass.Name(claim) != "" || deleting(claim) || binding.OnHold(claim) || !untouched(claim) {
		return false, nil
	}
	classes := &hostclaimv1.HostClaimClassList{}
	if err := r.Client.List(ctx, classes, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list HostClaimClasses: %w", err)
	}
	if len(classes.Items) == 0 {
		return false, nil
	}
	namespace, err := watch.ReadNamespace(ctx, r.Client, claim.Namespace)
	if err != nil {
		return false, err
	}
	name := hostclass.Default(classes.Items, namespace.Labels)
	if name == "" {
		return false, nil
	}
	ctrl.LoggerFrom(ctx).Info("Giving the HostClaim the default class", "HostClaimClass", name)
	desired := claim.DeepCopy()
	metav1.SetMetaDataLabel(&desired.ObjectMeta, infrav1.ClassLabel, name)
	return true, r.patchClaim(ctx, claim, desired, "put the default class on the claim")
}

// untouched reports whether no controller has begun to answer a claim, which is not made for a server that there is
// already.
func untouched(claim *bmov1alpha1.HostClaim) bool {
	_, intended := binding.LastIntent(claim)
	record := binding.RecordOf(claim)
	return !metav1.HasAnnotation(claim.ObjectMeta, infrav1.TakeOverAnnotation) && !intended && !hostclass.Answered(claim) && (record == binding.Blank || record == binding.Unrecorded)
}

// classWait is why the claim may get no host by its class; without a reason if it may.
func (s *scope) classWait() binding.Wait {
	return binding.Wait{Reason: s.class.Reason, Message: s.class.Message}
}

// classToClaims wakes the claims of a class. A new default is for new claims.
func (r *Reconciler) classToClaims(ctx context.Context, object client.Object) []reconcile.Request {
	return r.claims(ctx, client.MatchingLabels{infrav1.ClassLabel: object.GetName()})
}
