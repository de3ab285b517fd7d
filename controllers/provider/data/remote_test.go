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
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// site is the connection to the cluster with the hosts.
type site struct {
	hostclaims.Connections // nil: what is not written here is not used

	to remote.Site
}

func (s site) Site(remote.User, identity.Ref) (remote.Site, *identity.Problem) {
	return s.to, nil
}

func (site) Release(remote.User) {}

// TestRemoteWordsAreNotShown has the cluster with the host of a machine answer with
// words of its own. None of them reaches a condition, an event, a log or the error of
// the pass, which controller-runtime logs.
func TestRemoteWordsAreNotShown(t *testing.T) {
	const words = "s3cret\nReady: True"
	fails := func() error { return errors.New(words) }
	hostile := interceptor.NewClient(server.Client, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return fails()
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return fails() },
	})
	cached, err := server.NewClient(t.Context(), interceptor.Funcs{}, SetupIndexes)
	expect.NoError(t, err)
	data, target := remoteData(t), identity.Target{Server: "https://hosts.example", Namespace: "infra"}
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{
		Client: cached, Live: cached, Secrets: secretwatch.New(nil), Metrics: NewMetrics(prometheus.NewRegistry()), Recorder: recorder, Clock: clock.RealClock{},
		Hosts:      hostclaims.Clients{Client: cached, Local: served(true), Remote: site{to: remote.NewSite(target, hostile, hostile)}},
		metal3IPAM: served(true), otherIPAM: served(false), ipPools: served(true),
	}
	var shown []string
	log := funcr.New(func(prefix, args string) { shown = append(shown, prefix+args) }, funcr.Options{Verbosity: 10})
	_, failed := r.Reconcile(ctrl.LoggerInto(t.Context(), log), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(data)})
	if failed == nil {
		t.Fatal("the other cluster was not asked")
	}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(data), data))
	shown = append(shown, failed.Error(), data.Status.ErrorMessage, conditions.GetMessage(data, infrav1.ReadyCondition))
	for len(recorder.Events) > 0 {
		shown = append(shown, <-recorder.Events)
	}
	if at := slices.IndexFunc(shown, func(text string) bool { return strings.Contains(text, "s3cret") }); at >= 0 {
		t.Errorf("words of the other cluster are shown: %s", shown[at])
	}
}

// remoteData makes a Metal3Data of a machine whose host is in another cluster.
func remoteData(t *testing.T) *infrav1.Metal3Data {
	t.Helper()
	namespace := server.Namespace(t)
	meta := func(name, kind string, owner client.Object) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: namespace, Name: name}
		if owner != nil {
			gvk, _ := server.Client.GroupVersionKindFor(owner)
			m.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: gvk.GroupVersion().String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID(),
			}}
		}
		return m
	}
	template := &infrav1.Metal3DataTemplate{ObjectMeta: meta("nodes", "", nil)}
	template.Spec.MetaData = &infrav1.MetaData{ObjectNames: []infrav1.MetaDataObjectName{{Key: "host", Object: "baremetalhost"}}}
	machine := &clusterv1.Machine{ObjectMeta: meta("m-1", "", nil)}
	for _, o := range []client.Object{template, machine} {
		server.Create(t, o)
	}
	metal3Machine := &infrav1.Metal3Machine{
		ObjectMeta: meta("m-1", "Machine", machine),
		Spec:       infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}, IdentityRef: &infrav1.IdentityReference{Name: "hosts"}},
	}
	server.Create(t, metal3Machine)
	target := identity.Target{Server: "https://hosts.example", Namespace: "infra"}
	before := metal3Machine.DeepCopy()
	metal3Machine.Annotations = identity.NewRecord(claims.OwnerOf(metal3Machine), identity.Ref{Secret: "hosts"}, target, "o-1").Annotations()
	expect.NoError(t, server.Client.Patch(t.Context(), metal3Machine, client.MergeFrom(before)))
	data := &infrav1.Metal3Data{ObjectMeta: meta("nodes-0", machineKind, metal3Machine), Spec: infrav1.Metal3DataSpec{
		Index: ptr.To[int32](0), Template: &infrav1.Metal3ObjectRef{Name: "nodes"}, Claim: &infrav1.Metal3ObjectRef{Name: "m-1"},
	}}
	server.Create(t, data)
	return data
}
