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

package manifests

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fieldOwner is who applies the manifests.
	fieldOwner = client.FieldOwner("devcluster")
	// atOnce is how many objects of a stage are applied in parallel.
	atOnce = 8
	// establishTimeout is how long the API server may take to serve new CRDs.
	establishTimeout = time.Minute
	// establishPeriod is how often it is asked.
	establishPeriod = 100 * time.Millisecond
)

// Apply installs the objects: namespaces and CRDs first, then the rest when the
// CRDs are served. Objects that are there already take the new form.
func Apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	stages := map[string][]*unstructured.Unstructured{}
	for _, object := range objects {
		stage := stageOf(object)
		stages[stage] = append(stages[stage], object)
	}
	for _, stage := range []string{"Namespace", "CustomResourceDefinition"} {
		if err := applyStage(ctx, c, stages[stage]); err != nil {
			return err
		}
	}
	for _, crd := range stages["CustomResourceDefinition"] {
		if err := waitEstablished(ctx, c, crd); err != nil {
			return err
		}
	}
	return applyStage(ctx, c, stages["rest"])
}

// Installed reads the objects from the cluster, as another tool has installed them. Those that are not
// there are left out.
func Installed(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, object := range objects {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(object.GroupVersionKind())
		err := c.Get(ctx, client.ObjectKeyFromObject(object), now)
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		case err != nil:
			return nil, fmt.Errorf("get %s %s: %w", object.GetKind(), object.GetName(), err)
		default:
			found = append(found, now)
		}
	}
	return found, nil
}

// Point has the webhooks of objects that were read from the cluster call the endpoint, which is what a
// network and cert-manager would do.
func Point(ctx context.Context, c client.Client, objects []*unstructured.Unstructured, endpoint Endpoint) error {
	for _, object := range objects {
		pointed := object.DeepCopy()
		if err := UseURLs([]*unstructured.Unstructured{pointed}, endpoint); err != nil {
			return err
		}
		if equality.Semantic.DeepEqual(object, pointed) {
			continue
		}
		if err := c.Patch(ctx, pointed, client.MergeFrom(object)); err != nil {
			return fmt.Errorf("point %s %s at a process: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// Merge joins lists of objects. Where two lists hold the same object, the later
// one's stands in the place of the earlier.
func Merge(lists ...[]*unstructured.Unstructured) []*unstructured.Unstructured {
	type identity struct {
		kind schema.GroupKind
		key  client.ObjectKey
	}
	var merged []*unstructured.Unstructured
	places := map[identity]int{}
	for _, list := range lists {
		for _, object := range list {
			id := identity{object.GroupVersionKind().GroupKind(), client.ObjectKeyFromObject(object)}
			place, found := places[id]
			if !found {
				places[id] = len(merged)
				merged = append(merged, object)
				continue
			}
			merged[place] = object
		}
	}
	return merged
}

func stageOf(object *unstructured.Unstructured) string {
	switch kind := object.GetKind(); kind {
	case "Namespace", "CustomResourceDefinition":
		return kind
	}
	return "rest"
}

func applyStage(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, object := range objects {
		group.Go(func() error {
			err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
			if err != nil {
				return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// waitEstablished waits until the API server serves a CRD. It asks instead of
// watching: there are dozens, and each is served within a second.
func waitEstablished(ctx context.Context, c client.Client, crd *unstructured.Unstructured) error {
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(crd.GroupVersionKind())
	err := wait.PollUntilContextTimeout(ctx, establishPeriod, establishTimeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), now); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return isEstablished(now)
	})
	if err != nil {
		return fmt.Errorf("the API server does not serve CRD %s: %w", crd.GetName(), err)
	}
	return nil
}

func isEstablished(object *unstructured.Unstructured) (bool, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
		return false, err
	}
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	}), nil
}
