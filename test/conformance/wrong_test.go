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

package conformance_test

import (
	"context"
	"encoding/json"
	"maps"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/test/conformance/example"
)

// wrong makes a wrong controller of the example, by what its client does. The suite says so in its case.
type wrong struct {
	fails, says string
	client      func(client.WithWatch, string) client.Client
}

func wrongs() map[string]wrong {
	return map[string]wrong{
		"erases nothing": {"release", "holds the data of a claim that is gone", patched(func(o client.Object, patch map[string]any) {
			if _, machine := o.(*corev1.ConfigMap); machine && patch["data"] == nil {
				delete(patch, "data")
			}
		})},
		"does not lock its finalizer": {"lock", "lock the write on resourceVersion", patched(func(_ client.Object, patch map[string]any) {
			if metadata, ok := patch["metadata"].(map[string]any); ok {
				delete(metadata, "resourceVersion")
			}
		})},
		"frees no machines": {"release", "belongs to a claim that is gone", patched(func(o client.Object, patch map[string]any) {
			if _, machine := o.(*corev1.ConfigMap); machine {
				delete(patch, "metadata")
			}
		})},
		"looks at no namespaceSelector": {"permit", "HostClaim machine got", got(func(o client.Object) {
			if class, ok := o.(*hostclaimv1.HostClaimClass); ok {
				class.Spec.NamespaceSelector = &metav1.LabelSelector{}
			}
		})},
		"answers claims of other controllers": {"leave", "got the finalizer", got(func(o client.Object) {
			switch o := o.(type) {
			case *hostclaimv1.HostClaimClass:
				o.Spec.ControllerName = example.Controller().Name
				o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size":"small"}`)}
			case *bmov1alpha1.HostClaim:
				maps.DeleteFunc(o.Annotations, func(key, _ string) bool { return key == "hostclaim.metal3.io/bound-claim-uid" })
			}
		})},
		"writes another image at once": {"synchronize", "as the image was changed", got(func(o client.Object) {
			if claim, ok := o.(*bmov1alpha1.HostClaim); ok && claim.Spec.Image != nil {
				metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "hostclaim.metal3.io/rebuild", claim.Spec.Image.URL)
			}
		})},
		"holds nothing off": {"hold", "as annotation reboot.metal3.io/conformance was set", got(func(o client.Object) {
			if claim, ok := o.(*bmov1alpha1.HostClaim); ok {
				delete(claim.Annotations, "reboot.metal3.io/conformance")
			}
		})},
		"writes an image to what is to be off": {"empty", "should have one without an image", got(func(o client.Object) {
			if claim, ok := o.(*bmov1alpha1.HostClaim); ok {
				claim.Spec.PoweredOn = true
			}
		})},
		"looks at no arguments": {"argue", "condition Associated=False of HostClaim", got(func(o client.Object) {
			if claim, ok := o.(*bmov1alpha1.HostClaim); ok {
				delete(claim.Annotations, "hostclaim.metal3.io/class-arguments")
			}
		})},
		"publishes nothing": {"bind", "is empty, or the claim is no owner", patchedCreate(func(o client.Object) {
			if hardware, ok := o.(*bmov1alpha1.HardwareData); ok {
				hardware.OwnerReferences = nil
			}
		})},
		"publishes for this cluster alone": {"bind", "no other cluster reads it", patchedCreate(func(o client.Object) {
			if hardware, ok := o.(*bmov1alpha1.HardwareData); ok {
				hardware.Labels = nil
			}
		})},
		"ignores the pause": {"pause", "HostClaim asleep got", got(func(o client.Object) {
			if claim, ok := o.(*bmov1alpha1.HostClaim); ok {
				delete(claim.Annotations, clusterv1.PausedAnnotation)
			}
		})},
		"reports what a Secret has":            {"bind", "shows what is in its Secret", leaking},
		"reads Secrets of any namespace":       {"confine", "which is another's", readingElsewhere},
		"forgets machines as it dies":          {"crash", "has machines", forgetful},
		"takes a machine before the finalizer": {"crash", "was given a machine without the finalizer", hasty},
		"keeps the power as it is": {"power", "it is true", patched(func(_ client.Object, patch map[string]any) {
			if status, ok := patch["status"].(map[string]any); ok && status["poweredOn"] != true {
				delete(status, "poweredOn")
			}
		})},
	}
}

// patched changes each patch before it is sent.
func patched(change func(o client.Object, patch map[string]any)) func(client.WithWatch, string) client.Client {
	edit := func(o client.Object, patch client.Patch) (client.Patch, error) {
		data, err := patch.Data(o)
		if err != nil {
			return nil, err
		}
		content := map[string]any{}
		if err := json.Unmarshal(data, &content); err != nil {
			return nil, err
		}
		change(o, content)
		data, err = json.Marshal(content)
		return client.RawPatch(patch.Type(), data), err
	}
	return func(of client.WithWatch, _ string) client.Client {
		return interceptor.NewClient(of, interceptor.Funcs{
			Patch: func(ctx context.Context, of client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
				patch, err := edit(o, patch)
				if err != nil {
					return err
				}
				return of.Patch(ctx, o, patch, options...)
			},
			SubResourcePatch: func(ctx context.Context, of client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				patch, err := edit(o, patch)
				if err != nil {
					return err
				}
				return of.SubResource(sub).Patch(ctx, o, patch, options...)
			},
		})
	}
}

// got changes each object that was read.
func got(change func(client.Object)) func(client.WithWatch, string) client.Client {
	return func(of client.WithWatch, _ string) client.Client {
		return interceptor.NewClient(of, interceptor.Funcs{
			Get: func(ctx context.Context, of client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
				if err := of.Get(ctx, key, o, options...); err != nil {
					return err
				}
				change(o)
				return nil
			},
		})
	}
}

// patchedCreate changes each object before it is created.
func patchedCreate(change func(client.Object)) func(client.WithWatch, string) client.Client {
	return func(of client.WithWatch, _ string) client.Client {
		return interceptor.NewClient(of, interceptor.Funcs{
			Create: func(ctx context.Context, of client.WithWatch, o client.Object, options ...client.CreateOption) error {
				change(o)
				return of.Create(ctx, o, options...)
			},
		})
	}
}

// leaking reports the Secret of a claim in its condition Synchronized.
func leaking(of client.WithWatch, _ string) client.Client {
	return interceptor.NewClient(of, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, of client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			secret := &corev1.Secret{}
			if claim, ok := o.(*bmov1alpha1.HostClaim); ok && meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.SynchronizedCondition) {
				if err := of.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Spec.UserData.Name}, secret); err != nil {
					return err
				}
				meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.SynchronizedCondition).Message = string(secret.Data["value"])
			}
			return of.SubResource(sub).Patch(ctx, o, patch, options...)
		},
	})
}

// readingElsewhere follows the namespace of a reference.
func readingElsewhere(of client.WithWatch, _ string) client.Client {
	elsewhere := sync.Map{}
	return interceptor.NewClient(of, interceptor.Funcs{
		Get: func(ctx context.Context, of client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			err := of.Get(ctx, key, o, options...)
			switch o := o.(type) {
			case *bmov1alpha1.HostClaim:
				if reference := o.Spec.UserData; reference != nil {
					elsewhere.Store(client.ObjectKey{Namespace: o.Namespace, Name: reference.Name}, reference.Namespace)
					reference.Namespace = ""
				}
			case *corev1.Secret:
				if namespace, found := elsewhere.Load(key); found && apierrors.IsNotFound(err) {
					key.Namespace, _ = namespace.(string)
					return of.Get(ctx, key, o, options...)
				}
			}
			return err
		},
	})
}

// hasty creates the machine of a claim as it learns of it.
func hasty(of client.WithWatch, cloud string) client.Client {
	return interceptor.NewClient(of, interceptor.Funcs{
		Patch: func(ctx context.Context, of client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if claim, ok := o.(*bmov1alpha1.HostClaim); ok && claim.Status.BareMetalHost == nil {
				machine := example.NewMachine(cloud, claim)
				if err := of.Create(ctx, machine); client.IgnoreAlreadyExists(err) != nil {
					return err
				}
			}
			return of.Patch(ctx, o, patch, options...)
		},
	})
}

// forgetful gives each machine another name than that by which it would be found again.
func forgetful(of client.WithWatch, _ string) client.Client {
	return interceptor.NewClient(of, interceptor.Funcs{
		Create: func(ctx context.Context, of client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if machine, ok := o.(*corev1.ConfigMap); ok {
				machine.Name, machine.GenerateName = "", "machine-"
			}
			return of.Create(ctx, o, options...)
		},
	})
}
