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

// Package conversion converts objects between v1beta1, which is served, and v1beta2, which is stored. Up is
// to v1beta2, down to v1beta1. There is one short function for what differs; the rest is of one type in both.
//
// Nothing is lost on the way there and back: where a version cannot hold all of an object, an annotation on
// it keeps the object as it was in the other version. It never counts for more than what can be seen: spec
// and status in the annotation are each used only if they convert to those of the object that carries it.
package conversion

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// SetupWithManager registers the conversions of all kinds.
func SetupWithManager(mgr ctrl.Manager) error {
	return errors.Join(
		register(mgr, clusterUp, clusterDown),
		register(mgr, clusterTemplateUp, clusterTemplateDown),
		register(mgr, machineUp, machineDown),
		register(mgr, machineTemplateUp, machineTemplateDown),
		register(mgr, dataTemplateUp, dataTemplateDown),
		register(mgr, dataClaimUp, dataClaimDown),
		register(mgr, dataUp, dataDown),
		register(mgr, remediationUp, remediationDown),
		register(mgr, remediationTemplateUp, remediationTemplateDown))
}

// register serves the conversions of one kind. Its functions convert all but the metadata, which are the same
// in both versions.
func register[Hub, Spoke client.Object](mgr ctrl.Manager, up func(Spoke, Hub), down func(Hub, Spoke)) error {
	var hub Hub
	var spoke Spoke
	converter := conversion.NewHubSpokeConverter(blank(hub), conversion.NewSpokeConverter(blank(spoke),
		func(_ context.Context, hub Hub, spoke Spoke) error { return convert(hub, spoke, down, up) },
		func(_ context.Context, spoke Spoke, hub Hub) error { return convert(spoke, hub, up, down) }))
	if err := ctrl.NewWebhookManagedBy(mgr, blank(hub)).WithConverter(converter).Complete(); err != nil {
		return fmt.Errorf("conversion of %T: %w", hub, err)
	}
	return nil
}

// convert makes to from from. It takes the annotation off from, as the functions of Cluster API do.
func convert[From, To client.Object](from From, to To, there func(From, To), back func(To, From)) error {
	kept := blank(to)
	found, err := utilconversion.UnmarshalData(from, kept)
	if err != nil { // It is not an object, and nothing that anybody has to mend.
		delete(from.GetAnnotations(), utilconversion.DataAnnotation)
	}
	metadata(from).DeepCopyInto(metadata(to))
	there(from, to)
	if found && err == nil {
		for i, leads := range leadTo(from, kept, back) {
			if leads {
				parts(to)[i].Set(parts(kept)[i])
			}
		}
	}
	if !slices.Contains(leadTo(from, to, back), false) {
		return nil
	}
	if err := utilconversion.MarshalData(from, to); err != nil {
		return fmt.Errorf("keep %T in an annotation: %w", from, err)
	}
	return nil
}

// leadTo reports which parts of an object convert to the same parts of the wanted one.
func leadTo[From, To client.Object](want From, object To, back func(To, From)) []bool {
	got := blank(want)
	back(object, got)
	var same []bool
	for i, part := range parts(got) {
		same = append(same, apiequality.Semantic.DeepEqual(part.Interface(), parts(want)[i].Interface()))
	}
	return same
}

// parts are spec and status, if the kind has one. Controllers change the one and users the other.
func parts(object client.Object) []reflect.Value {
	fields := reflect.ValueOf(object).Elem()
	all := []reflect.Value{fields.FieldByName("Spec"), fields.FieldByName("Status")}
	return slices.DeleteFunc(all, func(v reflect.Value) bool { return !v.IsValid() })
}

func blank[T client.Object](of T) T {
	return reflect.New(reflect.TypeOf(of).Elem()).Interface().(T) //nolint:errcheck // It is of the type of the other.
}

func metadata(object client.Object) *metav1.ObjectMeta {
	return object.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta) //nolint:errcheck // Each kind has them by this type.
}
