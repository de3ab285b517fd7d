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

// Package example is a small controller of HostClaims that passes the conformance suite, to begin another one from.
// What it gives are ConfigMaps, which stand for the machines of a cloud.
package example

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/test/conformance"
)

// Controller answers the claims of classes with controllerName compute.example.com/machines. Its classes name the size
// of their machines.
func Controller() hostclass.Controller {
	return hostclass.Controller{
		Name: "compute.example.com/machines", Finalizer: "hostclaim.metal3.io/compute.example.com.machines",
		Check: func(parameters *runtime.RawExtension) error {
			if parameters == nil || string(parameters.Raw) != `{"size":"small"}` {
				return errors.New(`parameters have no size: write size: small`)
			}
			return nil
		},
	}
}

// Reconciler gives machines to claims. Its client must read Secrets and machines from the API server, not from a cache.
type Reconciler struct {
	Client client.Client
	// Cloud is the namespace of the machines.
	Cloud string
}

// NewManager returns a manager with the controllers, which is ready to start. Options are what a caller wants beside.
func NewManager(config *rest.Config, cloud string, options ctrl.Options) (ctrl.Manager, error) {
	scheme, err := conformance.NewScheme()
	if err != nil {
		return nil, err
	}
	options.Scheme = scheme
	options.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, err
	}
	return mgr, (&Reconciler{Client: mgr.GetClient(), Cloud: cloud}).SetupWithManager(mgr)
}

// SetupWithManager adds the controllers of claims and of classes.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("claims").For(&bmov1alpha1.HostClaim{}).
		Watches(&hostclaimv1.HostClaimClass{}, handler.EnqueueRequestsFromMapFunc(r.claimsOfClass)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.claimsIn)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.claimsBeside), builder.OnlyMetadata).
		Complete(r)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("classes").For(&hostclaimv1.HostClaimClass{}).Complete(&classes{r.Client})
}

func (r *Reconciler) claimsOfClass(ctx context.Context, class client.Object) []ctrl.Request {
	return r.claims(ctx, client.MatchingLabels{infrav1.ClassLabel: class.GetName()})
}

func (r *Reconciler) claimsIn(ctx context.Context, namespace client.Object) []ctrl.Request {
	return r.claims(ctx, client.InNamespace(namespace.GetName()))
}

func (r *Reconciler) claimsBeside(ctx context.Context, secret client.Object) []ctrl.Request {
	return r.claims(ctx, client.InNamespace(secret.GetNamespace()))
}

func (r *Reconciler) claims(ctx context.Context, of client.ListOption) (requests []ctrl.Request) {
	claims := &bmov1alpha1.HostClaimList{}
	if err := r.Client.List(ctx, claims, of); err != nil {
		return nil
	}
	for i := range claims.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&claims.Items[i])})
	}
	return requests
}

// Reconcile answers a claim.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &bmov1alpha1.HostClaim{}
	if err := r.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if metav1.HasAnnotation(claim.ObjectMeta, clusterv1.PausedAnnotation) {
		return ctrl.Result{}, nil
	}
	if !claim.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.reconcileDelete(ctx, claim)
	}
	verdict, err := r.judge(ctx, claim)
	if err != nil || !verdict.Answers {
		return ctrl.Result{}, err
	}
	before := claim.DeepCopy()
	err = r.answer(ctx, claim, verdict)
	if !equality.Semantic.DeepEqual(before.Status, claim.Status) {
		err = errors.Join(err, r.Client.Status().Patch(ctx, claim, client.MergeFrom(before)))
	}
	return ctrl.Result{}, err
}

// judge asks whether the claim is this controller's.
func (r *Reconciler) judge(ctx context.Context, claim *bmov1alpha1.HostClaim) (hostclass.Verdict, error) {
	var class *hostclaimv1.HostClaimClass
	if name := hostclass.Name(claim); name != "" {
		class = &hostclaimv1.HostClaimClass{}
		if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, class); apierrors.IsNotFound(err) {
			class = nil
		} else if err != nil {
			return hostclass.Verdict{}, err
		}
	}
	namespace := &corev1.Namespace{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: claim.Namespace}, namespace); err != nil {
		return hostclass.Verdict{}, err
	}
	return Controller().Judge(claim, class, namespace.Labels), nil
}

// answer gives the claim its machine, and sets its status. What it has, it keeps, although its class permits it no more.
func (r *Reconciler) answer(ctx context.Context, claim *bmov1alpha1.HostClaim, verdict hostclass.Verdict) error {
	if !Controller().Holds(claim) {
		if verdict.Reason == "" {
			verdict = judgeArguments(claim)
		}
		if verdict.Reason != "" { // without the finalizer: another controller may answer
			set(claim, bmov1alpha1.AssociatedCondition, metav1.ConditionFalse, verdict.Reason, verdict.Message)
			return nil
		}
		if err := r.take(ctx, claim); err != nil {
			return err
		}
	}
	machine, err := r.machine(ctx, claim)
	if err != nil {
		return err
	}
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: machine.Namespace, Name: machine.Name}
	set(claim, bmov1alpha1.AssociatedCondition, metav1.ConditionTrue, "MachineGiven", "")
	if err := r.publish(ctx, claim); err != nil {
		return err
	}
	if err := r.synchronize(ctx, claim, machine); err != nil {
		return err
	}
	if c := meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.SynchronizedCondition); c.Status == metav1.ConditionTrue {
		c.Message = verdict.Message // what became of the class
	}
	return nil
}

// judgeArguments refuses arguments, of which this controller knows none.
func judgeArguments(claim *bmov1alpha1.HostClaim) hostclass.Verdict {
	arguments, err := hostclass.Arguments(claim)
	switch {
	case err != nil:
		return hostclass.Verdict{Reason: infrav1.InvalidClassArgumentsReason, Message: err.Error()}
	case len(arguments) > 0:
		return hostclass.Verdict{Reason: infrav1.InvalidClassArgumentsReason, Message: "machines take no arguments: remove them"}
	default:
		return hostclass.Verdict{}
	}
}

// take puts the finalizer on the claim as it was judged: before all else.
func (r *Reconciler) take(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	before := claim.DeepCopy()
	controllerutil.AddFinalizer(claim, Controller().Finalizer)
	return r.Client.Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// reconcileDelete erases the machine, frees it, and lets the claim go.
func (r *Reconciler) reconcileDelete(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	if !controllerutil.ContainsFinalizer(claim, Controller().Finalizer) {
		return nil
	}
	machines := &corev1.ConfigMapList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(r.Cloud), client.MatchingLabels{ClaimLabel: string(claim.UID)}); err != nil {
		return err
	}
	for i := range machines.Items {
		machine := &machines.Items[i]
		before := machine.DeepCopy()
		delete(machine.Labels, ClaimLabel)
		machine.Data = nil
		if err := r.Client.Patch(ctx, machine, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	before := claim.DeepCopy()
	controllerutil.RemoveFinalizer(claim, Controller().Finalizer)
	return client.IgnoreNotFound(r.Client.Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// ClaimLabel on a machine is the UID of its claim.
const ClaimLabel = "compute.example.com/claim"

// Machines lists the machines of a cloud for the conformance suite.
func Machines(ctx context.Context, reader client.Reader, cloud string) ([]conformance.Machine, error) {
	all := &corev1.ConfigMapList{}
	if err := reader.List(ctx, all, client.InNamespace(cloud)); err != nil {
		return nil, err
	}
	machines := make([]conformance.Machine, 0, len(all.Items))
	for _, m := range all.Items {
		machines = append(machines, conformance.Machine{
			Name: m.Namespace + "/" + m.Name, Claim: types.UID(m.Labels[ClaimLabel]), Image: m.Data["image"], HoldsData: len(m.Data) > 0,
		})
	}
	return machines, nil
}

// NewMachine is the machine of a claim before it exists.
func NewMachine(cloud string, claim *bmov1alpha1.HostClaim) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: cloud, Name: string(claim.UID), Labels: map[string]string{ClaimLabel: string(claim.UID)},
	}}
}

// machine is that of the claim. Its name tells whose it is, so that it is found again by a controller that has died.
func (r *Reconciler) machine(ctx context.Context, claim *bmov1alpha1.HostClaim) (*corev1.ConfigMap, error) {
	machine := NewMachine(r.Cloud, claim)
	if claim.Status.BareMetalHost != nil {
		machine.Name = claim.Status.BareMetalHost.Name
	}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(machine), machine)
	if apierrors.IsNotFound(err) {
		err = r.Client.Create(ctx, machine)
	}
	return machine, err
}

// publish publishes what the machine has, for data templates. The object is the claim's alone, by its UID.
func (r *Reconciler) publish(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	hardware := &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: string(claim.UID), Labels: map[string]string{infrav1.ClaimUIDLabel: string(claim.UID)},
			Annotations: map[string]string{
				infrav1.HostNameAnnotation: claim.Status.BareMetalHost.Name, infrav1.HostNamespaceAnnotation: claim.Status.BareMetalHost.Namespace,
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(claim, bmov1alpha1.GroupVersion.WithKind("HostClaim"))},
		},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{Hostname: claim.Name, RAMMebibytes: 2048}},
	}
	if err := r.Client.Create(ctx, hardware); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	claim.Status.HardwareData = &bmov1alpha1.ObjectReference{Namespace: hardware.Namespace, Name: hardware.Name}
	set(claim, infrav1.HardwareDataPublishedCondition, metav1.ConditionTrue, "Published", "")
	return nil
}

// synchronize boots the machine as the claim wants it, and reports what came of it. Another image waits for a new text of
// the annotation rebuild, and each image until the machine is to be on.
func (r *Reconciler) synchronize(ctx context.Context, claim *bmov1alpha1.HostClaim, machine *corev1.ConfigMap) error {
	secret, why, err := r.userData(ctx, claim)
	if err != nil {
		return err
	}
	before, on := machine.DeepCopy(), claim.Spec.PoweredOn && !hostclass.HeldOff(claim)
	if why == "" {
		machine.Data = desiredData(claim, machine.Data, secret)
	}
	if machine.Data == nil {
		machine.Data = map[string]string{}
	}
	machine.Data["on"] = strconv.FormatBool(on)
	if err := r.Client.Patch(ctx, machine, client.MergeFrom(before)); err != nil {
		return err
	}
	claim.Status.PoweredOn = on
	report(claim, machine, why)
	return nil
}

// report sets the conditions about the machine. Why is what keeps it from being as the claim wants it.
func report(claim *bmov1alpha1.HostClaim, machine *corev1.ConfigMap, why string) {
	if why != "" {
		for _, kind := range []string{bmov1alpha1.SynchronizedCondition, bmov1alpha1.ProvisionedCondition, infrav1.ReadyCondition} {
			set(claim, kind, metav1.ConditionFalse, bmov1alpha1.BadUserDataSecretReason, why)
		}
		return
	}
	set(claim, bmov1alpha1.SynchronizedCondition, metav1.ConditionTrue, bmov1alpha1.ConfigurationSyncedReason, "")
	provisioned, available := metav1.ConditionFalse, metav1.ConditionTrue
	if machine.Data["image"] != "" {
		provisioned, available = metav1.ConditionTrue, metav1.ConditionFalse
	}
	set(claim, bmov1alpha1.AvailableForProvisioningCondition, available, "Observed", "Whether the machine waits for an image")
	set(claim, bmov1alpha1.ProvisionedCondition, provisioned, "Observed", "Whether the machine runs an image")
	set(claim, infrav1.ReadyCondition, provisioned, "Observed", "Whether the machine runs an image")
}

// desiredData is the data of a machine with the image that the claim wants, or without one.
func desiredData(claim *bmov1alpha1.HostClaim, before map[string]string, userData []byte) map[string]string {
	data := map[string]string{}
	maps.Copy(data, before)
	if rebuild := claim.Annotations[infrav1.RebuildAnnotation]; rebuild != "" && data["rebuild"] != rebuild {
		data = map[string]string{"rebuild": rebuild}
	}
	if claim.Spec.Image != nil && claim.Spec.PoweredOn && data["image"] == "" {
		data["image"], data["userData"] = claim.Spec.Image.URL, string(userData)
	}
	return data
}

// userData is what the machine boots with, or why it is not to be had. Other Secrets are not used, and refused all the
// same if they are of another namespace.
func (r *Reconciler) userData(ctx context.Context, claim *bmov1alpha1.HostClaim) (data []byte, why string, err error) {
	for _, reference := range []*corev1.SecretReference{claim.Spec.UserData, claim.Spec.MetaData, claim.Spec.NetworkData} {
		if reference != nil && reference.Namespace != "" && reference.Namespace != claim.Namespace {
			return nil, fmt.Sprintf("Secret %s of namespace %s is another's: create it in the namespace of the claim", reference.Name, reference.Namespace), nil
		}
	}
	if claim.Spec.UserData == nil {
		return nil, "", nil
	}
	secret := &corev1.Secret{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Spec.UserData.Name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Sprintf("Secret %s does not exist: create it", claim.Spec.UserData.Name), nil
	}
	return secret.Data["value"], "", err
}

// set sets a condition about the claim as it is now.
func set(claim *bmov1alpha1.HostClaim, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: claim.Generation,
	})
}

// classes writes the condition Accepted of the classes of the controller.
type classes struct{ client client.Client }

// Reconcile writes the condition Accepted of a class.
func (c *classes) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	class := &hostclaimv1.HostClaimClass{}
	if err := c.client.Get(ctx, req.NamespacedName, class); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := class.DeepCopy()
	if class.Spec.ControllerName != Controller().Name ||
		!meta.SetStatusCondition(&class.Status.Conditions, Controller().Accept(class)) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, c.client.Status().Patch(ctx, class, client.MergeFrom(before))
}
