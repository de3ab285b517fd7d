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

package site

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestDeletionsAreSeenAlthoughTheWatchBreaks has an object go while no watch is open.
func TestDeletionsAreSeenAlthoughTheWatchBreaks(t *testing.T) {
	pod := func(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	var seen []string
	all := &following{held: map[types.NamespacedName]client.Object{}, see: func(object any, _ time.Time) {
		switch o := object.(type) {
		case Gone:
			seen = append(seen, "gone "+o.Object.GetName())
		case client.Object:
			seen = append(seen, o.GetName())
		}
	}}
	streams := []*watch.FakeWatcher{watch.NewFakeWithChanSize(3, false), watch.NewFakeWithChanSize(1, false)}
	streams[0].Add(pod("a"))
	streams[0].Add(pod("b"))
	streams[0].Delete(pod("b"))
	streams[0].Stop()
	streams[1].Stop()
	again := func() (watch.Interface, error) {
		if len(streams) == 1 {
			return nil, errors.New("no third watch")
		}
		streams = streams[1:]
		return streams[0], all.list(&corev1.PodList{Items: []corev1.Pod{*pod("c")}})
	}
	all.read(t.Context(), streams[0], again)
	expect.Equal(t, []string{"a", "b", "gone b", "c", "gone a"}, seen)
}
