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

package datatemplate

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestPause shows that pausing costs one request each, and a pass of what is paused
// none.
func TestPause(t *testing.T) {
	var writes []string
	cached, err := server.NewClient(t.Context(), apitest.Writes(&writes), SetupIndexes)
	expect.NoError(t, err)
	r := &Reconciler{Client: cached, Live: cached, Clock: clock.RealClock{}}
	paused := metav1.ObjectMeta{
		Namespace: server.Namespace(t), Name: "nodes", Annotations: map[string]string{clusterv1.PausedAnnotation: ""},
	}
	template := &infrav1.Metal3DataTemplate{ObjectMeta: *paused.DeepCopy()}
	server.Create(t, template)
	claim := &infrav1.Metal3DataClaim{
		ObjectMeta: *paused.DeepCopy(), Spec: infrav1.Metal3DataClaimSpec{Template: &infrav1.Metal3ObjectRef{Name: "nodes"}},
	}
	server.Create(t, claim)
	for range 3 {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(template)}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"status", "status"}; !slices.Equal(writes, want) {
		t.Errorf("the requests of three passes are %v, want %v", writes, want)
	}
	for _, o := range []pausable{template, claim} {
		expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		if len(o.GetFinalizers()) > 0 || !conditions.IsTrue(o, infrav1.PausedCondition) {
			t.Errorf("%T: finalizers %v, conditions %v", o, o.GetFinalizers(), o.GetConditions())
		}
	}
}

// pausable is an object with the condition Paused.
type pausable interface {
	client.Object
	conditions.Getter
}
