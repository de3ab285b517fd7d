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

package conversion

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestRoundTrips converts random objects there and back, from both versions: OBJECTS of each kind.
func TestRoundTrips(t *testing.T) {
	t.Run("Metal3Cluster", roundTrips(clusterUp, clusterDown))
	t.Run("Metal3ClusterTemplate", roundTrips(clusterTemplateUp, clusterTemplateDown))
	t.Run("Metal3Machine", roundTrips(machineUp, machineDown))
	t.Run("Metal3MachineTemplate", roundTrips(machineTemplateUp, machineTemplateDown))
	t.Run("Metal3DataTemplate", roundTrips(dataTemplateUp, dataTemplateDown))
	t.Run("Metal3DataClaim", roundTrips(dataClaimUp, dataClaimDown))
	t.Run("Metal3Data", roundTrips(dataUp, dataDown))
	t.Run("Metal3Remediation", roundTrips(remediationUp, remediationDown))
	t.Run("Metal3RemediationTemplate", roundTrips(remediationTemplateUp, remediationTemplateDown))
}

func roundTrips[Hub, Spoke client.Object](up func(Spoke, Hub), down func(Hub, Spoke)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		objects, err := strconv.Atoi(os.Getenv("OBJECTS"))
		if err != nil {
			objects = 200
		}
		fill := utilconversion.GetFuzzer(runtime.NewScheme(), asInJSON)
		var hub Hub
		var spoke Spoke
		for range objects {
			stored, served := blank(hub), blank(spoke)
			fill.Fill(stored)
			fill.Fill(served)
			thereAndBack(t, stored, blank(spoke), down, up)
			thereAndBack(t, served, blank(hub), up, down)
		}
	}
}

func thereAndBack[From, To client.Object](t *testing.T, from From, to To, there func(From, To), back func(To, From)) {
	t.Helper()
	want := from.DeepCopyObject()
	expect.NoError(t, convert(from, to, there, back))
	got := blank(from)
	expect.NoError(t, convert(to, got, back, there))
	if !apiequality.Semantic.DeepEqual(want, got) {
		t.Fatalf("(-before +after):\n%s", cmp.Diff(want, got))
	}
}

// asInJSON leaves out what objects that come from JSON do not have.
func asInJSON(runtimeserializer.CodecFactory) []any {
	return []any{
		func(time **metav1.Time, c randfill.Continue) {
			if c.Bool() {
				*time = &metav1.Time{}
				c.Fill(*time)
			}
			if (*time).IsZero() {
				*time = nil
			}
		},
		func(value *apiextensionsv1.JSON, c randfill.Continue) {
			value.Raw, _ = json.Marshal(c.String(0))
		},
		func(_ *runtime.TypeMeta, _ randfill.Continue) {},
	}
}

// TestAnnotation shows when an object gets the annotation, and when the annotation counts.
func TestAnnotation(t *testing.T) {
	const annotation = utilconversion.DataAnnotation
	reference := &v1beta1.ObjectReference{Name: "template", Kind: "Metal3DataTemplate"}
	up := func(t *testing.T, spoke *v1beta1.Metal3DataClaim) *infrav1.Metal3DataClaim {
		t.Helper()
		hub := &infrav1.Metal3DataClaim{}
		expect.NoError(t, convert(spoke, hub, dataClaimUp, dataClaimDown))
		return hub
	}
	down := func(t *testing.T, hub *infrav1.Metal3DataClaim) *v1beta1.Metal3DataClaim {
		t.Helper()
		spoke := &v1beta1.Metal3DataClaim{}
		expect.NoError(t, convert(hub, spoke, dataClaimDown, dataClaimUp))
		return spoke
	}
	stored := func(t *testing.T) *infrav1.Metal3DataClaim {
		t.Helper()
		return up(t, &v1beta1.Metal3DataClaim{Spec: v1beta1.Metal3DataClaimSpec{Template: reference}})
	}

	t.Run("holds what the other version has no field for", func(t *testing.T) {
		hub := stored(t)
		if hub.Annotations[annotation] == "" {
			t.Error("the kind is nowhere")
		}
		got := down(t, hub)
		if diff := cmp.Diff(reference, got.Spec.Template); diff != "" || len(got.Annotations) > 0 {
			t.Errorf("annotations %v (-before +after):\n%s", got.Annotations, diff)
		}
	})
	t.Run("counts for the spec when the status has changed", func(t *testing.T) {
		hub := stored(t)
		hub.Status.ErrorMessage = "new"
		got := down(t, hub)
		if diff := cmp.Diff(reference, got.Spec.Template); diff != "" || got.Status.ErrorMessage != "new" {
			t.Errorf("status %+v (-before +after):\n%s", got.Status, diff)
		}
	})
	t.Run("is not there where nothing is lost", func(t *testing.T) {
		hub := up(t, &v1beta1.Metal3DataClaim{Spec: v1beta1.Metal3DataClaimSpec{Template: &v1beta1.ObjectReference{Name: "template"}}})
		if len(hub.Annotations) > 0 {
			t.Errorf("got %v", hub.Annotations)
		}
	})
	for name, change := range map[string]func(*infrav1.Metal3DataClaim){
		"does not count once the object has changed": func(hub *infrav1.Metal3DataClaim) { hub.Spec.Template.Name = "other" },
		"does not count if it holds another object": func(hub *infrav1.Metal3DataClaim) {
			hub.Annotations[annotation] = `{"spec":{"template":{"name":"other"}}}`
		},
		"does not count if it holds no object": func(hub *infrav1.Metal3DataClaim) { hub.Annotations[annotation] = "{" },
	} {
		t.Run(name, func(t *testing.T) {
			hub := stored(t)
			change(hub)
			want := &v1beta1.ObjectReference{Name: hub.Spec.Template.Name}
			got := down(t, hub)
			if diff := cmp.Diff(want, got.Spec.Template); diff != "" || len(got.Annotations) > 0 {
				t.Errorf("annotations %v (-want +got):\n%s", got.Annotations, diff)
			}
		})
	}
}
