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
	"context"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the timelines note.
const (
	// Bound is a claim with a host.
	Bound Mark = "bound"
	// Explained is a claim that was told why it has none.
	Explained Mark = "explained"
	// Available is a late host that may be claimed.
	Available Mark = "available"
	// Claimed is a host that some claim is bound to.
	Claimed Mark = "claimed"
)

// LateLabel is on the hosts whose times are noted.
const LateLabel = "late"

// watch fills the timelines until ctx ends. A benchmark makes its objects after
// that, so nothing is listed.
func (s *Site) watch(ctx context.Context) error {
	claims, err := s.Watch(ctx, &bmov1alpha1.HostClaimList{})
	if err != nil {
		return fmt.Errorf("watch claims: %w", err)
	}
	hosts, err := s.Watch(ctx, &bmov1alpha1.BareMetalHostList{}, client.HasLabels{LateLabel})
	if err != nil {
		return fmt.Errorf("watch hosts: %w", err)
	}
	go s.follow(ctx, claims, &bmov1alpha1.HostClaimList{})
	go s.follow(ctx, hosts, &bmov1alpha1.BareMetalHostList{}, client.HasLabels{LateLabel})
	return nil
}

// follow notes what a stream shows. A stream that breaks is opened again from now
// on; what passed meanwhile is seen with the object's next change.
func (s *Site) follow(ctx context.Context, stream watch.Interface, list client.ObjectList, options ...client.ListOption) {
	for {
		for event := range stream.ResultChan() {
			s.see(event.Object, time.Now())
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if stream, err = s.Watch(ctx, list, options...); err != nil {
			ctrl.Log.Error(err, "A watch of the benchmark has broken")
			return
		}
	}
}

func (s *Site) see(object any, now time.Time) {
	switch o := object.(type) {
	case *bmov1alpha1.HostClaim:
		key := client.ObjectKeyFromObject(o)
		switch c := meta.FindStatusCondition(o.Status.Conditions, bmov1alpha1.AssociatedCondition); {
		case c == nil:
		case c.Status == metav1.ConditionTrue:
			s.Claims.note(Bound, key, now)
			if host := o.Status.BareMetalHost; host != nil {
				s.Hosts.note(Claimed, types.NamespacedName{Namespace: host.Namespace, Name: host.Name}, now)
			}
		case c.Status == metav1.ConditionFalse:
			s.Claims.note(Explained, key, now)
		}
	case *bmov1alpha1.BareMetalHost:
		if o.Status.Provisioning.State == bmov1alpha1.StateAvailable {
			s.Hosts.note(Available, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, now)
		}
	}
}
