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

package inplace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CanUpdateMachineSet answers with patches for what a rebuild changes. Cluster API replaces
// the Machines if that is not all.
func (e *Extension) CanUpdateMachineSet(
	ctx context.Context, request *runtimehooksv1.CanUpdateMachineSetRequest, response *runtimehooksv1.CanUpdateMachineSetResponse,
) {
	if named := request.Desired.MachineSet; !canExist(named.Name, named.Namespace) {
		fail(response, "The request names no MachineSet")
		return
	}
	current, err := setOf(request.Current)
	desired, other := setOf(request.Desired)
	if err = errors.Join(err, other); err != nil {
		fail(response, err.Error())
		return
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("MachineSet", klog.KObj(&request.Desired.MachineSet)))
	patches, why, err := e.offer(ctx, request.Desired.MachineSet.Namespace, current, desired)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Update in place not judged")
		fail(response, "The rights of the provider manager cannot be asked for; its log says why. It is tried again")
		return
	}
	response.MachineSetPatch = jsonPatch(patches.Set)
	response.InfrastructureMachineTemplatePatch = jsonPatch(patches.Infrastructure)
	response.BootstrapConfigTemplatePatch = jsonPatch(patches.Bootstrap)
	response.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	response.SetMessage(why)
}

// offer returns what is covered, in a namespace where it can be carried out. An update that was begun
// without the rights for it would never end.
func (e *Extension) offer(ctx context.Context, namespace string, current, desired machineSet) (setPatches, string, error) {
	patches, why := covered(current, desired)
	if why != "" {
		ctrl.LoggerFrom(ctx).V(4).Info("No update in place", "reason", why)
		return patches, why, nil
	}
	missing, err := e.missingRight(ctx, namespace)
	if err != nil || missing == "" {
		return patches, "", err
	}
	why = fmt.Sprintf("The provider manager may not %s in this namespace: bind the ClusterRole capm3-in-place-updates there, "+
		"or leave the namespace out of the ExtensionConfig", missing)
	ctrl.LoggerFrom(ctx).Info("No update in place", "reason", why)
	return setPatches{}, why, nil
}

// setOf reads one side of a request.
func setOf(objects runtimehooksv1.CanUpdateMachineSetRequestObjects) (machineSet, error) {
	set := machineSet{Version: objects.MachineSet.Spec.Template.Spec.Version}
	for _, o := range []struct {
		into *map[string]any
		raw  runtime.RawExtension
		what string
	}{
		{&set.Infrastructure, objects.InfrastructureMachineTemplate, "infrastructure machine template"},
		{&set.Bootstrap, objects.BootstrapConfigTemplate, "bootstrap config template"},
	} {
		if len(o.raw.Raw) == 0 {
			continue
		}
		if err := json.Unmarshal(o.raw.Raw, o.into); err != nil {
			return machineSet{}, fmt.Errorf("the %s of the request is no object", o.what)
		}
	}
	return set, nil
}

func jsonPatch(text []byte) runtimehooksv1.Patch {
	if text == nil {
		return runtimehooksv1.Patch{}
	}
	return runtimehooksv1.Patch{PatchType: runtimehooksv1.JSONPatchType, Patch: text}
}

// UpdateMachine takes the steps that can be taken now, and answers how far the update has come.
func (e *Extension) UpdateMachine(
	ctx context.Context, request *runtimehooksv1.UpdateMachineRequest, response *runtimehooksv1.UpdateMachineResponse,
) {
	named := request.Desired.Machine
	if !canExist(named.Name, named.Namespace) {
		fail(response, "The request names no Machine")
		return
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Machine", klog.KObj(&named)))
	plan, err := e.advance(ctx, client.ObjectKeyFromObject(&named))
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "Update in place failed")
		fail(response, "The objects of the Machine cannot be read or written; the log of the provider manager says why. It is tried again")
	case plan.Step == stepRefuse:
		fail(response, plan.Message)
	default:
		response.SetStatus(runtimehooksv1.ResponseStatusSuccess)
		response.SetMessage(plan.Message)
		if plan.Step != stepDone {
			response.SetRetryAfterSeconds(int32(askAgain.Seconds()))
		}
	}
}

// canExist reports whether an object can have this name in a namespace of this name. One that
// cannot costs no request and no log line.
func canExist(name, namespace string) bool {
	return len(validation.IsDNS1123Subdomain(name)) == 0 && len(validation.IsDNS1123Label(namespace)) == 0
}

func fail(response runtimehooksv1.ResponseObject, message string) {
	response.SetStatus(runtimehooksv1.ResponseStatusFailure)
	response.SetMessage(message)
}

// rights are those of the ClusterRole capm3-in-place-updates, which the hardened install binds in
// single namespaces.
func rights() []authorizationv1.ResourceAttributes {
	bootstrap, core := bootstrapv1.GroupVersion.Group, clusterv1.GroupVersion.Group
	return []authorizationv1.ResourceAttributes{
		{Verb: "get", Group: bootstrap, Resource: "kubeadmconfigs"},
		{Verb: "patch", Group: bootstrap, Resource: "kubeadmconfigs"},
		{Verb: "patch", Group: bootstrap, Resource: "kubeadmconfigs", Subresource: "status"},
		{Verb: "patch", Group: core, Resource: "machines"},
	}
}

// missingRight returns a right that the extension lacks in a namespace; empty if it lacks none.
// Without the right to review its rights, it returns that one.
func (e *Extension) missingRight(ctx context.Context, namespace string) (string, error) {
	for _, right := range rights() {
		right.Namespace = namespace
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
		}
		switch err := e.Client.Create(ctx, review); {
		case apierrors.IsForbidden(err):
			return "create selfsubjectaccessreviews", nil
		case err != nil:
			return "", fmt.Errorf("ask for the rights in namespace %s: %w", namespace, err)
		case !review.Status.Allowed && right.Subresource != "":
			return right.Verb + " " + right.Resource + "/" + right.Subresource, nil
		case !review.Status.Allowed:
			return right.Verb + " " + right.Resource, nil
		}
	}
	return "", nil
}
