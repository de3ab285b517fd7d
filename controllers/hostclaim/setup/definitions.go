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

package setup

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// DefinitionReconciler keeps the CustomResourceDefinitions of baremetal-operator complete, see Complete. Each change of one
// wakes it, such as an upgrade of baremetal-operator. Only a move needs the label, and only people look at columns:
// without the right to write them, the manager runs on.
type DefinitionReconciler struct {
	client.Client
	// Live reads definitions whole; the caches hold their metadata.
	Live client.Reader
}

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=baremetalhosts.metal3.io;hardwaredata.metal3.io;hostclaims.metal3.io;hostdeploypolicies.metal3.io,verbs=get;list;watch;patch

// addDefinitions adds the controller, woken by what the caches hold.
func addDefinitions(mgr ctrl.Manager, caches map[string]cache.Cache) error {
	builder := ctrl.NewControllerManagedBy(mgr).Named("definition").WithOptions(controller.Options{RateLimiter: queue.Limiter()})
	for _, name := range slices.Sorted(maps.Keys(caches)) {
		builder.WatchesRawSource(source.Kind[client.Object](caches[name], watch.CRD(), &handler.EnqueueRequestForObject{}))
	}
	return builder.Complete(&DefinitionReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()})
}

// Reconcile completes one definition.
func (r *DefinitionReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	crd := &unstructured.Unstructured{} // which loses nothing that a newer API server knows
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := r.Live.Get(ctx, req.NamespacedName, crd); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	desired := crd.DeepCopy()
	if err := Complete(desired); err != nil {
		return ctrl.Result{}, err
	}
	if equality.Semantic.DeepEqual(crd, desired) {
		return ctrl.Result{}, nil
	}
	err := r.Patch(ctx, desired, patch.Locked(crd))
	if apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).Error(err, "The definition is left without its columns, or without the label for clusterctl move",
			"remedy", "let the account of the manager patch CustomResourceDefinition "+req.Name+", and restart the manager")
		err = nil
	}
	return ctrl.Result{}, err
}

// Complete puts on a CustomResourceDefinition of baremetal-operator what that leaves to others: the label by which
// clusterctl finds the kinds that move, and the columns of claims and policies. The schema is baremetal-operator's
// alone, so that no field of another release is lost.
func Complete(crd *unstructured.Unstructured) error {
	if slices.Contains(movedKinds[:], crd.GetName()) {
		labels := map[string]string{infrav1.ClusterctlLabel: ""}
		maps.Copy(labels, crd.GetLabels())
		crd.SetLabels(labels)
	}
	columns, err := columnsOf(crd.GetName())
	if err != nil || len(columns) == 0 {
		return err
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return err
	}
	for _, entry := range versions {
		if version, ok := entry.(map[string]any); ok && version["name"] == bmov1alpha1.GroupVersion.Version {
			if err := show(version, columns); err != nil {
				return err
			}
		}
	}
	return unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
}

// show has a version show columns, before those of other names that it shows already.
func show(version map[string]any, columns []any) error {
	theirs, _, err := unstructured.NestedSlice(version, "additionalPrinterColumns")
	if err != nil {
		return err
	}
	shown := slices.Clone(columns)
	for _, column := range theirs {
		if !slices.ContainsFunc(columns, func(c any) bool { return columnName(c) == columnName(column) }) {
			shown = append(shown, column)
		}
	}
	version["additionalPrinterColumns"] = shown
	return nil
}

func columnName(column any) any {
	content, _ := column.(map[string]any)
	return content["name"]
}

//go:embed columns.yaml
var columnsFile []byte

// columnsOf are the columns of a definition, none for most.
func columnsOf(name string) ([]any, error) {
	all := map[string]any{}
	if err := yaml.Unmarshal(columnsFile, &all); err != nil {
		return nil, fmt.Errorf("columns of the definitions: %w", err)
	}
	columns, _ := all[name].([]any)
	return columns, nil
}
