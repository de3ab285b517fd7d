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

package data

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestPause shows that pausing costs one request, and a pass of a paused object none.
func TestPause(t *testing.T) {
	var writes []string
	cached, err := server.NewClient(t.Context(), apitest.Writes(&writes), SetupIndexes)
	expect.NoError(t, err)
	r := &Reconciler{Client: cached, Live: cached, Recorder: events.NewFakeRecorder(10), Clock: clock.RealClock{}}
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "a"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)},
	}
	server.Create(t, cluster)
	data := &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace, Name: "nodes-0", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"},
		},
		Spec: infrav1.Metal3DataSpec{
			Index: ptr.To[int32](0), Claim: &infrav1.Metal3ObjectRef{Name: "m"}, Template: &infrav1.Metal3ObjectRef{Name: "nodes"},
		},
	}
	server.Create(t, data)
	for range 3 {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(data)}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"status"}; !slices.Equal(writes, want) {
		t.Errorf("the requests of three passes are %v, want %v", writes, want)
	}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(data), data))
	if len(data.Finalizers) > 0 || !conditions.IsTrue(data, infrav1.PausedCondition) || len(data.Status.Conditions) != 1 {
		t.Errorf("finalizers %v, conditions %v", data.Finalizers, data.Status.Conditions)
	}
}
