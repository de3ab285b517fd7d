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

package town

import (
	"context"
	"errors"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// ClusterName is the Cluster of every tenant.
const ClusterName = "cluster"

// Marks of Metal3Machines, and bound of HostClaims. The reasons of IdentityReady are
// marks too.
const (
	reported site.Mark = "reported"
	answered site.Mark = "answered"
	bound    site.Mark = "bound"
)

// Tenant makes a namespace with a Cluster, whose secrets both managers may use.
func (t *Town) Tenant(ctx context.Context, name string) error {
	if err := t.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{tenantLabel: ""}}}); err != nil {
		return err
	}
	return errors.Join(
		t.Server.Bind(ctx, harness.ProviderAccount(), name, "capm3-tenant-secrets"),
		t.Server.Bind(ctx, harness.HostClaimAccount(), name, "hostclaim-source-secrets"),
		t.Create(ctx, builder.Bootstrap(name, ClusterName)),
		t.cluster(ctx, name, ClusterName),
	)
}

// cluster makes a Cluster whose infrastructure is provisioned.
func (t *Town) cluster(ctx context.Context, namespace, name string) error {
	cluster := builder.Cluster(types.NamespacedName{Namespace: namespace, Name: name})
	// The kind is another one: what is played are machines.
	cluster.Spec.InfrastructureRef.Kind = "OtherCluster"
	if err := t.Create(ctx, cluster); err != nil {
		return err
	}
	before := cluster.DeepCopy()
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	return t.Status().Patch(ctx, cluster, client.MergeFrom(before))
}

// Secret makes a Secret with one key.
func (t *Town) Secret(ctx context.Context, namespace, name, key string, value []byte) error {
	return t.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{key: value},
	})
}

// Machine makes a machine of a tenant as Cluster API would.
func (t *Town) Machine(ctx context.Context, key types.NamespacedName, change func(*infrav1.Metal3Machine)) error {
	owner := builder.Machine(key, ClusterName)
	if err := t.Create(ctx, owner); err != nil {
		return err
	}
	m := builder.PausedMetal3Machine(owner)
	delete(m.Annotations, clusterv1.PausedAnnotation)
	m.Spec.CustomDeploy = nil
	m.Spec.Image = &infrav1.Image{URL: "http://192.0.2.1/node.qcow2", Checksum: ptr.To("abc"), ChecksumType: "sha256", DiskFormat: "qcow2"}
	change(m)
	return t.Create(ctx, m)
}

// Waited is how long a machine waited for its first status and for its host.
type Waited struct{ Status, Bound time.Duration }

// Serve makes a host that only this machine suits and then the machine, and returns
// when it is bound.
func (t *Town) Serve(ctx context.Context, key types.NamespacedName) (Waited, error) {
	labels := Only(key)
	if err := t.Host(ctx, types.NamespacedName{Namespace: Infra, Name: key.Name}, labels); err != nil {
		return Waited{}, err
	}
	begun := time.Now()
	if err := t.Machine(ctx, key, func(m *infrav1.Metal3Machine) {
		m.Spec.HostSelector = &infrav1.HostSelector{MatchLabels: labels}
	}); err != nil {
		return Waited{}, err
	}
	last, err := t.AwaitBound(ctx, key)
	if err != nil {
		return Waited{}, err
	}
	_, err = t.marks.Await(ctx, reported, key)
	return Waited{Status: t.marks.At(reported, key).Sub(begun), Bound: last.Sub(begun)}, err
}

// Only are labels of a host that one machine is to have.
func Only(key types.NamespacedName) map[string]string {
	return map[string]string{"town.example/for": key.Namespace + "." + key.Name}
}

// AwaitBound waits until a claim has its host, and returns when that was. The claim of a machine
// has the machine's name. The machine itself reports a host only when what follows the bind does
// not come at once.
func (t *Town) AwaitBound(ctx context.Context, key types.NamespacedName) (time.Time, error) {
	return t.marks.Await(ctx, bound, key)
}

// AwaitAnswer waits until it is known of machines whether their connection can be used.
func (t *Town) AwaitAnswer(ctx context.Context, keys ...types.NamespacedName) error {
	_, err := t.marks.Await(ctx, answered, keys...)
	return err
}

// Had counts the machines whose IdentityReady has had a reason.
func (t *Town) Had(reason string, keys ...types.NamespacedName) (count int64) {
	for _, key := range keys {
		if !t.marks.At(site.Mark(reason), key).IsZero() {
			count++
		}
	}
	return count
}

// AwaitIdentity waits until IdentityReady of a machine has had a reason.
func (t *Town) AwaitIdentity(ctx context.Context, reason string, keys ...types.NamespacedName) error {
	_, err := t.marks.Await(ctx, site.Mark(reason), keys...)
	return err
}

func (t *Town) watch(ctx context.Context) error {
	return errors.Join(t.watchMachines(ctx), t.Follow(ctx, &bmov1alpha1.HostClaimList{}, func(object any, now time.Time) {
		claim, ok := object.(*bmov1alpha1.HostClaim)
		if ok && meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.AssociatedCondition) {
			t.marks.Note(bound, client.ObjectKeyFromObject(claim), now)
		}
	}))
}

func (t *Town) watchMachines(ctx context.Context) error {
	return t.Follow(ctx, &infrav1.Metal3MachineList{}, func(object any, now time.Time) {
		m, ok := object.(*infrav1.Metal3Machine)
		if !ok || len(m.Status.Conditions) == 0 {
			return
		}
		key := client.ObjectKeyFromObject(m)
		t.marks.Note(reported, key, now)
		if c := conditions.Get(m, infrav1.IdentityReadyCondition); c != nil {
			t.marks.Note(site.Mark(c.Reason), key, now)
			if c.Reason != infrav1.IdentityConnectingReason {
				t.marks.Note(answered, key, now)
			}
		}
	})
}

// Evict takes a tenant's machines, their data, claims, Secrets and Clusters away, without waiting for what
// holds them: its API server may be gone.
func (t *Town) Evict(ctx context.Context, tenant string) error {
	for _, list := range []client.ObjectList{
		&infrav1.Metal3MachineList{}, &infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataList{}, &ipamv1alpha1.IPClaimList{},
		&bmov1alpha1.HostClaimList{}, &corev1.SecretList{}, &clusterv1.ClusterList{},
	} {
		if err := t.remove(ctx, list, tenant); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes all objects of a kind and takes their finalizers. It asks for them one by one,
// since a server gives up on the deletion of thousands in one request.
func (t *Town) remove(ctx context.Context, list client.ObjectList, namespace string) error {
	if err := t.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return site.InParallel(ctx, 0, len(items), func(ctx context.Context, n int) error {
		o, ok := items[n].(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", items[n])
		}
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		for _, err := range []error{t.Delete(ctx, o), t.Patch(ctx, o, free)} {
			if client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return nil
	})
}
