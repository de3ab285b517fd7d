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

package data_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
)

// poolFinalizer is what a pool holds a claim with while it has an address.
const poolFinalizer = "ipclaim.ipam.metal3.io"

// silent begins the names of pools whose claims a test answers itself.
const silent = "silent-"

// addressManagement is what is installed with the first test that needs it.
var addressManagement installation

type installation struct {
	crds []apiextensionsv1.CustomResourceDefinition
	once sync.Once
	// stop ends the pools; nil before install.
	stop context.CancelFunc
}

// remove takes the CRDs of both address management APIs away and waits until
// the API server has forgotten their groups.
func (i *installation) remove(ctx context.Context) error {
	var all apiextensionsv1.CustomResourceDefinitionList
	if err := server.Client.List(ctx, &all); err != nil {
		return err
	}
	for _, crd := range all.Items {
		if crd.Spec.Group != ipamv1alpha1.GroupVersion.Group && crd.Spec.Group != capipamv1.GroupVersion.Group {
			continue
		}
		if err := served(ctx, crd); err != nil {
			return fmt.Errorf("list objects of %s: %w", crd.Name, err)
		}
		if err := server.Client.Delete(ctx, &crd); err != nil {
			return err
		}
		crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels, Annotations: crd.Annotations}
		i.crds = append(i.crds, crd)
	}
	groups, err := discovery.NewDiscoveryClientForConfig(server.Config)
	if err != nil {
		return err
	}
	return eventually(ctx, func() bool {
		_, metal3 := groups.ServerResourcesForGroupVersion(ipamv1alpha1.GroupVersion.String())
		_, capi := groups.ServerResourcesForGroupVersion(capipamv1.GroupVersion.String())
		// The list of all groups, from which clients learn of kinds, may lag behind.
		listed, err := groups.ServerGroups()
		return apierrors.IsNotFound(metal3) && apierrors.IsNotFound(capi) && err == nil &&
			!slices.ContainsFunc(listed.Groups, func(g metav1.APIGroup) bool {
				return g.Name == ipamv1alpha1.GroupVersion.Group || g.Name == capipamv1.GroupVersion.Group
			})
	})
}

// served waits until objects of a CRD can be listed: one that is deleted before
// that is in the way for minutes.
func served(ctx context.Context, crd apiextensionsv1.CustomResourceDefinition) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{
		Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.ListKind,
	})
	return eventually(ctx, func() bool { return server.Client.List(ctx, list) == nil })
}

func eventually(ctx context.Context, check func() bool) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return check(), nil })
}

// install brings the CRDs back and starts the pools.
func (i *installation) install(t *testing.T) {
	t.Helper()
	i.once.Do(func() {
		for _, crd := range i.crds {
			crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
			if err := server.Client.Create(t.Context(), &crd); err != nil {
				t.Fatalf("install %s: %v", crd.Name, err)
			}
		}
		options := envtest.CRDInstallOptions{MaxTime: patience, PollInterval: 50 * time.Millisecond}
		var crds []*apiextensionsv1.CustomResourceDefinition
		for _, crd := range i.crds {
			crds = append(crds, &crd)
		}
		expect.NoError(t, envtest.WaitForCRDs(server.Config, crds, options))
		pools, err := newPools()
		expect.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		i.stop = stop
		go func() {
			if err := pools.Start(ctx); err != nil {
				panic(err) // otherwise the tests wait without an error
			}
		}()
	})
}

// newPools returns a manager that plays the address managers: a claim on an
// IPPool that exists gets the first address that is free, and a claim of Cluster
// API gets one in any case. A claim that only the pool still holds loses its
// address, and one that was refused is never looked at again.
func newPools() (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(server.Config, ctrl.Options{
		Scheme: server.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	p := &pools{Client: server.Client}
	err = ctrl.NewControllerManagedBy(mgr).Named("pools").For(&ipamv1alpha1.IPClaim{}).
		Watches(&ipamv1alpha1.IPPool{}, handler.EnqueueRequestsFromMapFunc(p.claims)).
		Complete(reconcileFunc(p.answer))
	if err != nil {
		return nil, err
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("other-pools").For(&capipamv1.IPAddressClaim{}).
		Complete(reconcileFunc(p.answerCAPI))
	return mgr, err
}

type reconcileFunc func(context.Context, ctrl.Request) (ctrl.Result, error)

func (f reconcileFunc) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return f(ctx, req)
}

type pools struct {
	client.Client
}

// claims wakes the claims on a pool.
func (p *pools) claims(ctx context.Context, pool client.Object) []ctrl.Request {
	var list ipamv1alpha1.IPClaimList
	if err := p.List(ctx, &list, client.InNamespace(pool.GetNamespace())); err != nil {
		return nil
	}
	var requests []ctrl.Request
	for _, claim := range list.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&claim)})
	}
	return requests
}

func (p *pools) answer(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, pool := &ipamv1alpha1.IPClaim{}, &ipamv1alpha1.IPPool{}
	if err := p.Get(ctx, req.NamespacedName, claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if strings.HasPrefix(claim.Spec.Pool.Name, silent) {
		return ctrl.Result{}, nil
	}
	if !claim.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, p.takeBack(ctx, claim)
	}
	err := p.Get(ctx, types.NamespacedName{Namespace: req.Namespace, Name: claim.Spec.Pool.Name}, pool)
	if err != nil || claim.Status.Address != nil || claim.Status.ErrorMessage != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := p.hold(ctx, claim); err != nil {
		return ctrl.Result{}, err
	}
	// The name of the object is made of the address, which therefore cannot be given twice.
	for last := 10; last <= end(pool); last++ {
		address := &ipamv1alpha1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: fmt.Sprintf("%s-%d", pool.Name, last)},
			Spec: ipamv1alpha1.IPAddressSpec{
				Claim:      corev1.ObjectReference{Name: claim.Name},
				Pool:       claim.Spec.Pool,
				Address:    ipamv1alpha1.IPAddressStr(fmt.Sprintf("192.0.2.%d", last)),
				Prefix:     pool.Spec.Prefix,
				Gateway:    pool.Spec.Gateway,
				DNSServers: pool.Spec.DNSServers,
			},
		}
		err := p.Create(ctx, address)
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return ctrl.Result{}, err
		}
		before := claim.DeepCopy()
		claim.Status.Address = &corev1.ObjectReference{Name: address.Name, Namespace: address.Namespace}
		if err := p.Status().Patch(ctx, claim, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, p.note(ctx, pool, claim.Name, address.Spec.Address)
	}
	before := claim.DeepCopy()
	claim.Status.ErrorMessage = ptr.To("Exhausted")
	return ctrl.Result{}, p.Status().Patch(ctx, claim, client.MergeFrom(before))
}

// end is the last number that the pool gives.
func end(pool *ipamv1alpha1.IPPool) int {
	if len(pool.Spec.Pools) == 0 || pool.Spec.Pools[0].End == nil {
		return 249
	}
	return int(netip.MustParseAddr(string(*pool.Spec.Pools[0].End)).As4()[3])
}

// note writes down who has an address of the pool; an empty address means that
// it was given back.
func (p *pools) note(ctx context.Context, pool *ipamv1alpha1.IPPool, claim string, address ipamv1alpha1.IPAddressStr) error {
	before := pool.DeepCopy()
	if pool.Status.Allocations == nil {
		pool.Status.Allocations = map[string]ipamv1alpha1.IPAddressStr{}
	}
	pool.Status.Allocations[claim] = address
	if address == "" {
		delete(pool.Status.Allocations, claim)
	}
	pool.Status.LastUpdated = ptr.To(metav1.Now())
	return client.IgnoreNotFound(p.Status().Patch(ctx, pool, client.MergeFrom(before)))
}

func (p *pools) hold(ctx context.Context, claim client.Object) error {
	before, _ := claim.DeepCopyObject().(client.Object)
	if !controllerutil.AddFinalizer(claim, poolFinalizer) {
		return nil
	}
	return p.Patch(ctx, claim, client.MergeFrom(before))
}

// takeBack waits until only the pool holds the claim.
func (p *pools) takeBack(ctx context.Context, claim *ipamv1alpha1.IPClaim) error {
	if len(claim.Finalizers) != 1 || claim.Finalizers[0] != poolFinalizer {
		return nil
	}
	if claim.Status.Address != nil {
		address := &ipamv1alpha1.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Status.Address.Name}}
		if err := p.Delete(ctx, address); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	before := claim.DeepCopy()
	controllerutil.RemoveFinalizer(claim, poolFinalizer)
	if err := p.Patch(ctx, claim, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return err
	}
	pool := &ipamv1alpha1.IPPool{}
	if err := p.Get(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: claim.Spec.Pool.Name}, pool); err != nil {
		return client.IgnoreNotFound(err)
	}
	return p.note(ctx, pool, claim.Name, "")
}

func (p *pools) answerCAPI(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &capipamv1.IPAddressClaim{}
	err := p.Get(ctx, req.NamespacedName, claim)
	if err != nil || !claim.DeletionTimestamp.IsZero() || claim.Status.AddressRef.Name != "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	address := &capipamv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: claim.Name},
		Spec: capipamv1.IPAddressSpec{
			ClaimRef: capipamv1.IPAddressClaimReference{Name: claim.Name},
			PoolRef:  claim.Spec.PoolRef,
			Address:  "2001:db8::42", Prefix: ptr.To[int32](64), Gateway: "2001:db8::1",
		},
	}
	if err := p.Create(ctx, address); err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, err
	}
	before := claim.DeepCopy()
	claim.Status.AddressRef.Name = address.Name
	return ctrl.Result{}, p.Status().Patch(ctx, claim, client.MergeFrom(before))
}

// TestClustersShareATemplate shows the rules of sharing: one row of indexes for all
// Clusters of the namespace; data, secrets and claims on pools carry the label of
// the Cluster whose machine they are for; nothing of it belongs to the template,
// and the end of one Cluster's machines touches no other's.
func TestClustersShareATemplate(t *testing.T) {
	tn := newTenant(t)
	tn.pool("pool")
	tn.template("nodes", "metaData: {indexes: [{key: index}], ipAddressesFromPool: [{key: ip, name: pool}]}")
	tn.Add(builder.Cluster(tn.Key("b")))
	claims := map[string]*infrav1.Metal3DataClaim{}
	for _, cluster := range []string{clusterName, "b"} {
		m := tn.machineOf(cluster, "of-"+cluster)
		tn.bind(m)
		claims[cluster] = tn.claim(m, "nodes")
		tn.Await(tn.Named("of-"+cluster, claims[cluster]), func(g gomega.Gomega) { g.Expect(claims[cluster].Status.RenderedData).NotTo(gomega.BeNil()) })
	}
	of := map[string]string{clusterName: "nodes-0", "b": "nodes-1"}
	for cluster, name := range of {
		metaData, _ := tn.ready(name)
		tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("index", name[len(name)-1:]))
		data := find(tn, name, &infrav1.Metal3Data{})
		for _, owner := range data.OwnerReferences {
			tn.G.Expect(owner.Kind).To(gomega.BeElementOf("Metal3DataClaim", "Metal3Machine"), "its template does not own it")
		}
		for object, o := range map[string]client.Object{name: data, name + "-pool": &ipamv1alpha1.IPClaim{}, "of-" + cluster + "-metadata": &corev1.Secret{}} {
			tn.G.Expect(tn.Find(object, o)).To(gomega.Succeed())
			tn.G.Expect(o.GetLabels()).To(gomega.HaveKeyWithValue(clusterv1.ClusterNameLabel, cluster))
		}
	}
	kept := find(tn, "nodes-1", &infrav1.Metal3Data{})

	tn.release(claims[clusterName])
	tn.gaveBack("nodes-0")
	still := find(tn, "nodes-1", &infrav1.Metal3Data{})
	tn.G.Expect(still.UID).To(gomega.Equal(kept.UID))
	tn.G.Expect(tn.Find("nodes-1-pool", &ipamv1alpha1.IPClaim{})).To(gomega.Succeed())

	// The index that became free goes to whichever Cluster asks next.
	m := tn.machineOf("b", "of-b-too")
	tn.bind(m)
	tn.claim(m, "nodes")
	metaData, _ := tn.ready("nodes-0")
	tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("index", "0"))
}

// TestNewDataDoesNotAdoptADyingClaim has a claim on a pool that a former Metal3Data of
// the name is still giving back: its address is that of a server which may run. The
// new one waits, and has an address of its own.
func TestNewDataDoesNotAdoptADyingClaim(t *testing.T) {
	tn := newTenant(t)
	tn.templateWithPool()
	const slow = "example.com/slow"
	dying := &ipamv1alpha1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "nodes-0-pool", Finalizers: []string{slow}},
		Spec:       ipamv1alpha1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "pool", Namespace: tn.Namespace}},
	}
	tn.Add(dying)
	tn.Await(tn.Named("nodes-0-pool", dying), func(g gomega.Gomega) { g.Expect(dying.Status.Address).NotTo(gomega.BeNil()) })
	tn.Edit(dying, func() {
		dying.Finalizers = append(dying.Finalizers, infrav1.DataFinalizer)
		dying.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "nodes-0", UID: "former", Controller: ptr.To(true),
		}}
	})
	// There is no Metal3Data of that UID any more, so its hold is taken off; another one stays.
	tn.Await(tn.Named("nodes-0-pool", dying), func(g gomega.Gomega) {
		g.Expect(dying.DeletionTimestamp).NotTo(gomega.BeNil())
		g.Expect(dying.Finalizers).NotTo(gomega.ContainElement(infrav1.DataFinalizer))
	})

	tn.joins("m", "nodes")
	tn.waits("nodes-0", infrav1.AddressUnavailableReason, `"nodes-0-pool"`, "something else")
	tn.G.Consistently(func() error { return tn.Find("m-metadata", &corev1.Secret{}) }, stillness).ShouldNot(gomega.Succeed())

	tn.Edit(dying, func() { dying.Finalizers = []string{poolFinalizer} })
	tn.ready("nodes-0")
	fresh := find(tn, "nodes-0-pool", &ipamv1alpha1.IPClaim{})
	tn.G.Expect(fresh.UID).NotTo(gomega.Equal(dying.UID))
	tn.G.Expect(fresh.Status.Address).NotTo(gomega.BeNil())
}

// TestATemplateServesMoreMachinesThanItLists goes past the end of status.indexes,
// which is for people only.
func TestATemplateServesMoreMachinesThanItLists(t *testing.T) {
	tn := newTenant(t)
	tn.template("nodes", "metaData: {indexes: [{key: index}]}")
	const listed, many = 512, 515
	for i := range int32(many) {
		tn.Add(&infrav1.Metal3Data{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("nodes-%d", i)},
			Spec: infrav1.Metal3DataSpec{
				Index: ptr.To(i), Claim: &infrav1.Metal3ObjectRef{Name: fmt.Sprintf("m-%d", i)}, Template: &infrav1.Metal3ObjectRef{Name: "nodes"},
			},
		})
	}
	tn.joins("m", "nodes")
	metaData, _ := tn.ready("nodes-515")
	tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("index", "515"))
	template := &infrav1.Metal3DataTemplate{}
	tn.Await(tn.Named("nodes", template), func(g gomega.Gomega) { g.Expect(template.Status.Indexes).To(gomega.HaveLen(listed)) })
}
