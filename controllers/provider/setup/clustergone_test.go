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
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestOnClusterGone(t *testing.T) {
	scheme, err := NewScheme()
	expect.NoError(t, err)
	informers := &informertest.FakeInformers{Scheme: scheme}
	var got []string
	expect.NoError(t, onClusterGone(t.Context(), informers, func(namespace, name string) { got = append(got, namespace+"/"+name) }))
	clusters, err := informers.FakeInformerFor(t.Context(), &clusterv1.Cluster{})
	expect.NoError(t, err)
	cluster := func(name string) *clusterv1.Cluster {
		return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
	}
	clusters.Add(cluster("stays"))
	clusters.Delete(cluster("gone"))
	expect.That(t, len(got) == 1 && got[0] == "n/gone", "forgotten are %v", got)
}
