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
	"fmt"
	"reflect"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Kind converts the objects of one kind, but their metadata, which are the same in both versions.
type Kind[Hub, Spoke client.Object] struct {
	up   func(Spoke, Hub)
	down func(Hub, Spoke)
}

// Cluster converts Metal3Clusters.
func Cluster() Kind[*infrav1.Metal3Cluster, *v1beta1.Metal3Cluster] {
	return Kind[*infrav1.Metal3Cluster, *v1beta1.Metal3Cluster]{clusterUp, clusterDown}
}

// ClusterTemplate converts Metal3ClusterTemplates.
func ClusterTemplate() Kind[*infrav1.Metal3ClusterTemplate, *v1beta1.Metal3ClusterTemplate] {
	return Kind[*infrav1.Metal3ClusterTemplate, *v1beta1.Metal3ClusterTemplate]{clusterTemplateUp, clusterTemplateDown}
}

// Machine converts Metal3Machines.
func Machine() Kind[*infrav1.Metal3Machine, *v1beta1.Metal3Machine] {
	return Kind[*infrav1.Metal3Machine, *v1beta1.Metal3Machine]{machineUp, machineDown}
}

// MachineTemplate converts Metal3MachineTemplates.
func MachineTemplate() Kind[*infrav1.Metal3MachineTemplate, *v1beta1.Metal3MachineTemplate] {
	return Kind[*infrav1.Metal3MachineTemplate, *v1beta1.Metal3MachineTemplate]{machineTemplateUp, machineTemplateDown}
}

// DataTemplate converts Metal3DataTemplates.
func DataTemplate() Kind[*infrav1.Metal3DataTemplate, *v1beta1.Metal3DataTemplate] {
	return Kind[*infrav1.Metal3DataTemplate, *v1beta1.Metal3DataTemplate]{dataTemplateUp, dataTemplateDown}
}

// DataClaim converts Metal3DataClaims.
func DataClaim() Kind[*infrav1.Metal3DataClaim, *v1beta1.Metal3DataClaim] {
	return Kind[*infrav1.Metal3DataClaim, *v1beta1.Metal3DataClaim]{dataClaimUp, dataClaimDown}
}

// Data converts Metal3Datas.
func Data() Kind[*infrav1.Metal3Data, *v1beta1.Metal3Data] {
	return Kind[*infrav1.Metal3Data, *v1beta1.Metal3Data]{dataUp, dataDown}
}

// Remediation converts Metal3Remediations.
func Remediation() Kind[*infrav1.Metal3Remediation, *v1beta1.Metal3Remediation] {
	return Kind[*infrav1.Metal3Remediation, *v1beta1.Metal3Remediation]{remediationUp, remediationDown}
}

// RemediationTemplate converts Metal3RemediationTemplates.
func RemediationTemplate() Kind[*infrav1.Metal3RemediationTemplate, *v1beta1.Metal3RemediationTemplate] {
	return Kind[*infrav1.Metal3RemediationTemplate, *v1beta1.Metal3RemediationTemplate]{remediationTemplateUp, remediationTemplateDown}
}

// Hub is an empty object of v1beta2.
func (k Kind[Hub, Spoke]) Hub() Hub {
	var hub Hub
	return blank(hub)
}

// Converter is what the conversion webhook calls.
func (k Kind[Hub, Spoke]) Converter() func(*runtime.Scheme) (conversion.Converter, error) {
	var spoke Spoke
	return conversion.NewHubSpokeConverter(k.Hub(), conversion.NewSpokeConverter(blank(spoke), k.Down, k.Up))
}

// Up converts from v1beta1.
func (k Kind[Hub, Spoke]) Up(_ context.Context, spoke Spoke, hub Hub) error {
	return convert(spoke, hub, k.up, k.down)
}

// Down converts to v1beta1.
func (k Kind[Hub, Spoke]) Down(_ context.Context, hub Hub, spoke Spoke) error {
	return convert(hub, spoke, k.down, k.up)
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
