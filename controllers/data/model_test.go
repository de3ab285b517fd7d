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
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostview"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/addressclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
)

// TestAddressesWhateverTheCacheShows lets machines come and go in two places of a
// template, while a pool gives addresses and takes them back, users delete claims,
// writes are lost, and the controller sees claims and data as they were at some
// earlier time. At no time
//
//   - is an address given back that a living machine has been configured with,
//   - have two living machines one address,
//   - is a machine configured with an address that was claimed for another one;
//
// and in the end living machines have their addresses and nobody else has any.
func TestAddressesWhateverTheCacheShows(t *testing.T) {
	for seed := range uint64(40) {
		w := newModel(t, rand.New(rand.NewPCG(seed, 3)))
		w.name = fmt.Sprintf("seed %d", seed)
		w.play(120)
	}
}

const (
	tenant        = "tenant"
	poolFinalizer = "ipclaim.ipam.metal3.io"
)

// model is the world around the controller. Its API server is a store in memory,
// since thousands of passes are needed to meet the rare ones.
type model struct {
	t      *testing.T
	name   string
	random *rand.Rand
	store  client.Client
	r      *Reconciler
	places []*place
	// past is what there was, oldest first. The caches of data and of claims show
	// a moment each.
	past                 []moment
	seenData, seenClaims int
	// size is how many addresses the pool has, and given who has them, by claim UID.
	size  int
	given map[string]types.UID
	uids  int
	// calm says that nothing is lost any more, and that the cache is up to date.
	calm bool
}

// place is an index of the template, with what is there now.
type place struct {
	data, machine string
	// uid is that of the Metal3Data; alive says that its machine lives.
	uid   types.UID
	alive bool
	// configured are the addresses that the machine was rendered with.
	configured []string
}

type moment struct {
	data   map[string]infrav1.Metal3Data
	claims []ipamv1alpha1.IPClaim
}

func newModel(t *testing.T, random *rand.Rand) *model {
	t.Helper()
	w := &model{
		t: t, random: random, size: 2 + random.IntN(4), given: map[string]types.UID{},
		places: []*place{{data: "nodes-0"}, {data: "nodes-1"}},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, infrav1.AddToScheme, clusterv1.AddToScheme, ipamv1alpha1.AddToScheme, capipamv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "nodes"}}
	const spec = `
networkData:
  links: {ethernets: [{id: e, type: phy, macAddress: {string: "52:54:00:00:00:01"}}]}
  networks: {ipv4: [{id: one, link: e, ipAddressFromIPPool: pool}, {id: two, link: e, ipAddressFromIPPool: pool}]}
`
	if err := yaml.UnmarshalStrict([]byte(spec), &template.Spec); err != nil {
		t.Fatal(err)
	}
	pool := &ipamv1alpha1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "pool", UID: "pool"}}
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(template, pool).
		WithStatusSubresource(&infrav1.Metal3Data{}, &ipamv1alpha1.IPClaim{}, pool).Build()
	w.store = store
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	cache := interceptor.NewClient(store, w.calls())
	w.r = &Reconciler{
		Client: cache, Live: store, Hosts: hosts{byHost: random.IntN(2) == 0}, Secrets: secretwatch.New(nil),
		Recorder: events.NewFakeRecorder(1000), Metrics: metrics, Clock: clock.RealClock{}, ClaimsByHostName: random.IntN(2) == 0,
		addresses: addressclaims.API{Client: cache, Live: store, Kinds: installed{}},
	}
	w.look()
	return w
}

// installed says that all kinds exist.
type installed struct{}

func (installed) Available(context.Context, client.Object) (bool, error) { return true, nil }

// hosts give every machine a server: the same one for all of a place, if byHost
// says so, or one of its own.
type hosts struct{ byHost bool }

func (h hosts) Host(_ context.Context, m *infrav1.Metal3Machine) (hostview.Host, bool, error) {
	if h.byHost {
		return hostview.Host{Name: "server-" + m.Labels["place"], Namespace: tenant}, true, nil
	}
	return hostview.Host{Name: "server-of-" + m.Name, Namespace: tenant}, true, nil
}

// calls lets the controller read what the cache shows, and write what there is.
func (w *model) calls() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			switch o := o.(type) {
			case *infrav1.Metal3Data:
				return w.cachedData(key, o)
			case *ipamv1alpha1.IPClaim:
				return w.cachedClaim(key, o)
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			claims, ok := list.(*ipamv1alpha1.IPClaimList)
			if !ok {
				return nil
			}
			selected := (&client.ListOptions{}).ApplyOptions(options).FieldSelector.Requirements()[0].Value
			for _, claim := range w.past[w.seenClaims].claims {
				if owner := metav1.GetControllerOf(&claim); owner != nil && owner.Name == selected {
					claims.Items = append(claims.Items, *claim.DeepCopy())
				}
			}
			return nil
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			o.SetUID(w.uid())
			return w.write(func() error { return c.Create(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return w.write(func() error { return c.Patch(ctx, o, patch, options...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
		) error {
			return w.write(func() error { return c.SubResource(name).Patch(ctx, o, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			found, _ := o.DeepCopyObject().(client.Object)
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), found); err != nil || found.GetUID() != o.GetUID() {
				return err // the store knows no precondition on UIDs
			}
			return w.write(func() error { return c.Delete(ctx, o, options...) })
		},
	}
}

func (w *model) cachedData(key client.ObjectKey, into *infrav1.Metal3Data) error {
	data, found := w.past[w.seenData].data[key.Name]
	if !found {
		return notFound(key)
	}
	data.DeepCopyInto(into)
	return nil
}

func (w *model) cachedClaim(key client.ObjectKey, into *ipamv1alpha1.IPClaim) error {
	for _, claim := range w.past[w.seenClaims].claims {
		if claim.Name == key.Name {
			claim.DeepCopyInto(into)
			return nil
		}
	}
	return notFound(key)
}

func notFound(key client.ObjectKey) error {
	return apierrors.NewNotFound(ipamv1alpha1.GroupVersion.WithResource("any").GroupResource(), key.Name)
}

func (w *model) uid() types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("uid-%d", w.uids))
}

// errLost is the error of a write that was lost, with the rest of its pass.
var errLost = errors.New("lost")

// write lets a write of the controller through, after which the cache may show
// what there is, or loses it.
func (w *model) write(call func() error) error {
	if !w.calm && w.random.IntN(15) == 0 {
		return errLost
	}
	err := call()
	w.look()
	return err
}

// play goes some steps, and then lets everything come to rest.
func (w *model) play(steps int) {
	for range steps {
		place := w.places[w.random.IntN(len(w.places))]
		switch w.random.IntN(18) {
		case 0:
			w.begin(place)
		case 1:
			w.end(place)
		case 2, 3, 4, 5:
			w.meddle()
		case 6, 7, 8, 9, 10:
			w.addressManager()
		default:
			w.pass(place)
		}
		w.look()
	}
	for _, place := range w.places {
		if data := (&infrav1.Metal3Data{}); !w.get(place.data, data) {
			w.bury(place)
		} else if !data.DeletionTimestamp.IsZero() {
			w.end(place)
			w.end(place)
		}
	}
	w.calm, w.size = true, 20
	for range 10 { // the longest way: a refused claim goes, and comes again
		w.grow()
		for _, place := range w.places {
			w.pass(place)
			w.addressManager()
			w.look()
		}
	}
	w.rest()
}

// rest checks what must hold once nothing happens any more.
func (w *model) rest() {
	held := 0
	for _, place := range w.places {
		data, found := w.past[len(w.past)-1].data[place.data]
		switch {
		case place.alive && (!found || len(place.configured) != 2):
			w.t.Fatalf("%s: %s lives and has %v: %+v", w.name, place.machine, place.configured, data.Status)
		case place.alive:
			held += 2
		}
	}
	if len(w.given) != held {
		w.t.Fatalf("%s: %d addresses are needed, and given are %v", w.name, held, w.given)
	}
}

// begin makes a machine with its claim and its data, where there is none. The
// machine may have the name of the one before.
func (w *model) begin(p *place) {
	if data := (&infrav1.Metal3Data{}); w.get(p.data, data) {
		return
	}
	w.bury(p)
	if p.machine == "" || w.random.IntN(2) == 0 {
		p.machine = fmt.Sprintf("m-%d", w.uids)
	}
	meta := metav1.ObjectMeta{Namespace: tenant, Name: p.machine, Labels: map[string]string{"place": p.data}}
	owned := func(kind, version string, by client.Object) metav1.ObjectMeta {
		owner := *meta.DeepCopy()
		owner.UID = w.uid()
		owner.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: by.GetName(), UID: by.GetUID(), Controller: ptr.To(true)}}
		return owner
	}
	machine := &clusterv1.Machine{ObjectMeta: *meta.DeepCopy()}
	machine.UID = w.uid()
	metal3Machine := &infrav1.Metal3Machine{ObjectMeta: owned("Machine", clusterv1.GroupVersion.String(), machine)}
	claim := &infrav1.Metal3DataClaim{ObjectMeta: owned(machineKind, infrav1.GroupVersion.String(), metal3Machine)}
	data := &infrav1.Metal3Data{
		ObjectMeta: owned(claimKind, infrav1.GroupVersion.String(), claim),
		Spec:       infrav1.Metal3DataSpec{Template: &infrav1.Metal3ObjectRef{Name: "nodes"}, Claim: &infrav1.Metal3ObjectRef{Name: claim.Name}},
	}
	data.Name, data.Finalizers = p.data, []string{infrav1.DataClaimFinalizer}
	data.OwnerReferences = append(data.OwnerReferences, metav1.OwnerReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: machineKind, Name: metal3Machine.Name, UID: metal3Machine.UID,
	})
	for _, o := range []client.Object{machine, metal3Machine, claim, data} {
		w.must(w.store.Create(w.t.Context(), o))
	}
	p.uid, p.alive, p.configured = data.UID, true, nil
}

// end goes one step of the end of a machine: its data is deleted, its claim goes,
// and its data is let go.
func (w *model) end(p *place) {
	data := &infrav1.Metal3Data{}
	switch {
	case !w.get(p.data, data):
		w.bury(p) // the controller had not even seen it
	case data.DeletionTimestamp.IsZero():
		w.must(w.store.Delete(w.t.Context(), data))
	case controllerutil.ContainsFinalizer(data, infrav1.DataClaimFinalizer):
		w.dropFinalizer(data, infrav1.DataClaimFinalizer)
	default:
		w.bury(p)
	}
}

// bury removes a machine with its claim.
func (w *model) bury(p *place) {
	p.alive, p.configured = false, nil
	for _, o := range []client.Object{&infrav1.Metal3DataClaim{}, &infrav1.Metal3Machine{}, &clusterv1.Machine{}} {
		if p.machine != "" && w.get(p.machine, o) {
			w.must(w.store.Delete(w.t.Context(), o))
		}
	}
}

// meddle does what a user might: it deletes a claim on the pool or a rendered
// secret, or makes the pool larger.
func (w *model) meddle() {
	claims := w.past[len(w.past)-1].claims
	switch w.random.IntN(3) {
	case 0:
		w.size++
		w.grow()
	case 1:
		secret := &corev1.Secret{}
		if w.get(w.places[w.random.IntN(len(w.places))].machine+"-networkdata", secret) {
			w.must(w.store.Delete(w.t.Context(), secret))
		}
	default:
		if len(claims) > 0 {
			w.must(client.IgnoreNotFound(w.store.Delete(w.t.Context(), &claims[w.random.IntN(len(claims))])))
		}
	}
}

// grow makes the pool look different.
func (w *model) grow() {
	pool := &ipamv1alpha1.IPPool{}
	w.get("pool", pool)
	before := pool.DeepCopy()
	pool.Generation++
	w.must(w.store.Patch(w.t.Context(), pool, client.MergeFrom(before)))
}

// addressManager looks at one claim, or at all when all is calm.
func (w *model) addressManager() {
	claims := w.past[len(w.past)-1].claims
	w.random.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
	for _, known := range claims {
		claim := &ipamv1alpha1.IPClaim{}
		if w.get(known.Name, claim) {
			w.answer(claim)
		}
		if !w.calm {
			return
		}
	}
}

// answer gives a claim the first free address, or refuses it for good; it takes
// the address back once nobody but itself holds the claim.
func (w *model) answer(claim *ipamv1alpha1.IPClaim) {
	switch {
	case !claim.DeletionTimestamp.IsZero() && slices.Equal(claim.Finalizers, []string{poolFinalizer}):
		for address, holder := range w.given {
			if holder == claim.UID {
				delete(w.given, address)
			}
		}
		w.dropFinalizer(claim, poolFinalizer)
	case !claim.DeletionTimestamp.IsZero() || claim.Status.Address != nil || claim.Status.ErrorMessage != nil:
	default:
		before := claim.DeepCopy()
		controllerutil.AddFinalizer(claim, poolFinalizer)
		w.must(w.store.Patch(w.t.Context(), claim, client.MergeFrom(before)))
		before = claim.DeepCopy()
		claim.Status.ErrorMessage = ptr.To("exhausted")
		for i := range w.size {
			address := fmt.Sprintf("192.0.2.%d", 10+i)
			if _, taken := w.given[address]; !taken {
				w.given[address] = claim.UID
				claim.Status.ErrorMessage, claim.Status.Address = nil, &corev1.ObjectReference{Name: "pool-" + address}
				w.address(address)
				break
			}
		}
		w.must(w.store.Status().Patch(w.t.Context(), claim, client.MergeFrom(before)))
	}
}

// address makes the object of an address, if there is none of an earlier time.
func (w *model) address(address string) {
	o := &ipamv1alpha1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "pool-" + address},
		Spec:       ipamv1alpha1.IPAddressSpec{Address: ipamv1alpha1.IPAddressStr(address), Prefix: 24},
	}
	if err := w.store.Create(w.t.Context(), o); !apierrors.IsAlreadyExists(err) {
		w.must(err)
	}
}

// pass is one pass of the controller.
func (w *model) pass(p *place) {
	w.advance(&w.seenData)
	w.advance(&w.seenClaims)
	_, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: tenant, Name: p.data}})
	if err != nil && (w.calm || !errors.Is(err, errLost) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err)) {
		w.t.Fatalf("%s: %v", w.name, err)
	}
}

// advance lets a cache see more than before, or not; it does not go back.
func (w *model) advance(seen *int) {
	ahead := len(w.past) - *seen
	switch {
	case w.calm:
		*seen = len(w.past) - 1
	case w.random.IntN(2) == 0:
		*seen += w.random.IntN(min(ahead, 4))
	default:
		*seen += w.random.IntN(ahead)
	}
}

// look notes what there is, and checks what must hold at all times.
func (w *model) look() {
	var data infrav1.Metal3DataList
	var claims ipamv1alpha1.IPClaimList
	w.must(errors.Join(w.store.List(w.t.Context(), &data), w.store.List(w.t.Context(), &claims)))
	now := moment{data: map[string]infrav1.Metal3Data{}, claims: claims.Items}
	for _, one := range data.Items {
		now.data[one.Name] = one
	}
	w.past = append(w.past, now)
	if w.calm {
		w.seenData, w.seenClaims = len(w.past)-1, len(w.past)-1
	}
	owners := map[types.UID]types.UID{}
	for _, claim := range claims.Items {
		owners[claim.UID] = metav1.GetControllerOf(&claim).UID
	}
	for _, p := range w.places {
		if p.alive && p.configured == nil {
			p.configured = w.rendered(p)
		}
		for _, address := range p.configured {
			if claim, given := w.given[address]; !given || owners[claim] != p.uid {
				w.t.Fatalf("%s: %s (%s) has %s, which is given to %q of %q", w.name, p.machine, p.uid, address, claim, owners[claim])
			}
		}
	}
}

// rendered reads the addresses that a machine is configured with.
func (w *model) rendered(p *place) []string {
	secret := &corev1.Secret{}
	if !w.get(p.machine+"-networkdata", secret) || metav1.GetControllerOf(secret).UID != p.uid {
		return nil
	}
	var doc struct {
		Networks []struct {
			Address string `json:"ip_address"`
		} `json:"networks"`
	}
	w.must(yaml.Unmarshal(secret.Data["networkData"], &doc))
	var addresses []string
	for _, network := range doc.Networks {
		addresses = append(addresses, network.Address)
	}
	return addresses
}

func (w *model) get(name string, into client.Object) bool {
	err := w.store.Get(w.t.Context(), types.NamespacedName{Namespace: tenant, Name: name}, into)
	w.must(client.IgnoreNotFound(err))
	return err == nil
}

func (w *model) dropFinalizer(o client.Object, finalizer string) {
	before, _ := o.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(o, finalizer)
	w.must(w.store.Patch(w.t.Context(), o, client.MergeFrom(before)))
}

func (w *model) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatalf("%s: %v", w.name, err)
	}
}
