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

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

const (
	// infra is the namespace of all hosts.
	infra = "bench-infra"
	// tenants is how many namespaces the claims are spread over.
	tenants = 10
)

// lateLabel is on the hosts whose times are noted.
const lateLabel = "late"

// What the timelines note.
const (
	// bound is a claim with a host, explained one that was told why it has none.
	bound     site.Mark = "bound"
	explained site.Mark = "explained"
	// available is a late host that may be claimed, taken one with a bound claim.
	available site.Mark = "available"
	taken     site.Mark = "claimed"
)

// room is a cluster with hosts and tenants, and a policy that lets them come together.
type room struct {
	*site.Site
	// claimed and freed note what happens to claims and to hosts.
	claimed, freed *site.Timeline
}

// open prepares the cluster of the server: namespaces, a policy that admits every
// tenant, the rights of the manager, and hostsim. It ends with ctx.
func open(ctx context.Context, server *harness.Server) (*room, error) {
	opened, err := site.Open(server, site.Counting{
		Resources: []string{"hostclaims", "baremetalhosts", "hostdeploypolicies", "hardwaredata", "secrets", "namespaces", "events"},
		Ours:      []string{"POST hostclaims", "DELETE hostclaims", "PATCH baremetalhosts/status"},
	})
	if err != nil {
		return nil, err
	}
	r := &room{Site: opened, claimed: site.NewTimeline(), freed: site.NewTimeline()}
	if err := errors.Join(r.furnish(ctx), r.PlayHosts(ctx)); err != nil {
		return nil, err
	}
	if err := r.Follow(ctx, &bmov1alpha1.HostClaimList{}, r.see); err != nil {
		return nil, err
	}
	return r, r.Follow(ctx, &bmov1alpha1.BareMetalHostList{}, r.see, client.HasLabels{lateLabel})
}

// tenant is the namespace of the n-th claim.
func tenant(n int) string {
	return fmt.Sprintf("bench-tenant-%d", n%tenants)
}

func (r *room) furnish(ctx context.Context) error {
	account := harness.HostClaimAccount()
	if err := r.Server.InstallRoles(ctx, account); err != nil {
		return fmt.Errorf("install the roles: %w", err)
	}
	rights := map[string]string{infra: "hostclaim-host-secrets"}
	var names []string
	for n := range tenants {
		names = append(names, tenant(n))
		rights[tenant(n)] = "hostclaim-source-secrets"
	}
	for namespace, role := range rights {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if err := errors.Join(r.Create(ctx, ns), r.Server.Bind(ctx, account, namespace, role)); err != nil {
			return err
		}
	}
	return r.Create(ctx, &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: "tenants"},
		Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: names}},
	})
}

func (r *room) see(object any, now time.Time) {
	switch o := object.(type) {
	case *bmov1alpha1.HostClaim:
		key := client.ObjectKeyFromObject(o)
		switch c := meta.FindStatusCondition(o.Status.Conditions, bmov1alpha1.AssociatedCondition); {
		case c == nil:
		case c.Status == metav1.ConditionTrue:
			r.claimed.Note(bound, key, now)
			if host := o.Status.BareMetalHost; host != nil {
				r.freed.Note(taken, types.NamespacedName{Namespace: host.Namespace, Name: host.Name}, now)
			}
		case c.Status == metav1.ConditionFalse:
			r.claimed.Note(explained, key, now)
		}
	case *bmov1alpha1.BareMetalHost:
		if o.Status.Provisioning.State == bmov1alpha1.StateAvailable {
			r.freed.Note(available, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, now)
		}
	}
}

// newClaim is a claim for a host with the labels; it asks for no image and no
// power, so that what is measured is its bind.
func newClaim(prefix string, n int, labels map[string]string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant(n), Name: fmt.Sprintf("%s-%05d", prefix, n)},
		Spec:       bmov1alpha1.HostClaimSpec{HostSelector: bmov1alpha1.HostSelector{MatchLabels: labels}},
	}
}

// addClaims makes claims as fast as the API server takes them, and returns their
// names and the moment before the first one.
func (r *room) addClaims(ctx context.Context, prefix string, count int, labels map[string]string) ([]types.NamespacedName, time.Time, error) {
	keys := make([]types.NamespacedName, count)
	begun := time.Now()
	err := site.InParallel(ctx, 0, count, func(ctx context.Context, n int) error {
		claim := newClaim(prefix, n, labels)
		keys[n] = client.ObjectKeyFromObject(claim)
		return r.Create(ctx, claim)
	})
	return keys, begun, err
}
