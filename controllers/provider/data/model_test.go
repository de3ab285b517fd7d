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
	"os"
	"slices"
	"testing"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest/history"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// TestAddressesWhateverTheCachesShow lets machines come and go in two places of a
// template, while a pool gives addresses and takes them back, users delete claims,
// requests are lost, and two controllers, as at a change of leaders, see everything
// as it was at some earlier time, or sleep before a write. At no time
//
//   - is an address given back that a living machine has been configured with,
//   - have two living machines one address,
//   - is a machine configured with an address that was claimed for another one;
//
// and in the end the living machines have their addresses and no claim is left over.
func TestAddressesWhateverTheCachesShow(t *testing.T) {
	history.Play(t, 40, func(t *testing.T, random *rand.Rand) {
		t.Helper()
		newModel(t, random).play(100)
	})
}

const poolFinalizer = "ipclaim.ipam.metal3.io"

// model is the world around the controllers.
type model struct {
	*history.History

	t        *testing.T
	random   *rand.Rand
	troubles *history.Faults
	// controllers are the two, and views is what each of them sees.
	controllers []*Reconciler
	views       []*history.View
	// busy are the passes that are under way, by controller and place.
	busy   map[string]bool
	places []*place
	// size is how many addresses the pool has, and given the UIDs of the claims that have them.
	size  int
	given map[string]types.UID
	made  int
}

// place is an index of the template, with what is there now.
type place struct {
	index         int32
	data, machine string
	// uid is that of the Metal3Data; alive is set while its machine lives.
	uid   types.UID
	alive bool
	// configured are the addresses that the machine was rendered with.
	configured []string
}

func newModel(t *testing.T, random *rand.Rand) *model {
	t.Helper()
	w := &model{
		t: t, random: random, size: 2 + random.IntN(4), given: map[string]types.UID{}, busy: map[string]bool{},
		places: []*place{{data: "nodes-0"}, {index: 1, data: "nodes-1"}},
		History: history.New(t, &server, &infrav1.Metal3DataList{}, &infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataTemplateList{},
			&infrav1.Metal3MachineList{}, &clusterv1.MachineList{}, &clusterv1.ClusterList{}, &corev1.SecretList{},
			&ipamv1alpha1.IPPoolList{}, &ipamv1alpha1.IPClaimList{}, &ipamv1alpha1.IPAddressList{}),
	}
	w.troubles = &history.Faults{Random: random, Meanwhile: w.step}
	template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "nodes"}}
	const spec = `
networkData:
  links: {ethernets: [{id: e, type: phy, macAddress: {string: "52:54:00:00:00:01"}}]}
  networks: {ipv4: [{id: one, link: e, ipAddressFromIPPool: pool}, {id: two, link: e, ipAddressFromIPPool: pool}]}
`
	w.must(yaml.UnmarshalStrict([]byte(spec), &template.Spec))
	w.create(template)
	w.create(&ipamv1alpha1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pool"}})
	byHost, byHostName := random.IntN(2) == 0, random.IntN(2) == 0
	for range 2 {
		w.controller(hosts{namespace: w.Namespace, byHost: byHost}, byHostName)
	}
	w.Noted = w.check
	return w
}

// controller adds a controller.
func (w *model) controller(servers hosts, byHostName bool) {
	indexes := []func(context.Context, client.FieldIndexer) error{SetupIndexes, indexClaims(&ipamv1alpha1.IPClaim{}), indexClaims(&capipamv1.IPAddressClaim{})}
	view, live := w.View(), w.Live(w.troubles)
	cache, err := view.Client(w.t.Context(), w.troubles, indexes...)
	w.must(err)
	w.views = append(w.views, view)
	w.controllers = append(w.controllers, &Reconciler{
		Client: cache, Live: live, Hosts: servers, Secrets: secretwatch.New(nil), Metrics: NewMetrics(prometheus.NewRegistry()),
		Recorder: events.NewFakeRecorder(1000), Clock: clock.RealClock{}, ClaimsByHostName: byHostName,
		metal3IPAM: served(true), otherIPAM: served(false), ipPools: served(true),
	})
}

// served reports whether an address management is there.
type served bool

func (s served) Available(context.Context) (bool, error) { return bool(s), nil }

func (s served) Started() bool { return bool(s) }

// hosts give every machine a server: the same one for all of a place if byHost is set, else one
// of its own.
type hosts struct {
	namespace string
	byHost    bool
}

func (h hosts) Host(_ context.Context, m *infrav1.Metal3Machine) (hardware.Host, bool, error) {
	name := "server-of-" + m.Name
	if h.byHost {
		name = "server-" + m.Labels["place"]
	}
	return hardware.Host{Name: name, Namespace: h.namespace}, true, nil
}

// play goes some steps, and then lets everything come to rest.
func (w *model) play(steps int) {
	for range steps {
		w.step()
	}
	*w.troubles = history.Faults{}
	for _, place := range w.places {
		if data, found := named[infrav1.Metal3Data](w, place.data); !found {
			w.bury(place)
		} else if !data.DeletionTimestamp.IsZero() {
			w.end(place)
			w.end(place)
		}
	}
	w.size = 20
	for range 10 { // the longest way: a refused claim goes, and comes again
		w.grow()
		w.collect()
		for _, place := range w.places {
			for i, view := range w.views {
				view.CatchUp()
				w.must(w.pass(i, place))
			}
			for range history.Now[ipamv1alpha1.IPClaim](w.History) {
				w.addressManager()
			}
		}
	}
	w.Verify(w.t)
	w.rest()
}

// step is one thing that happens.
func (w *model) step() {
	place := w.places[w.random.IntN(len(w.places))]
	switch w.random.IntN(20) {
	case 0, 1:
		w.begin(place)
	case 2:
		w.end(place)
	case 3, 4, 5:
		w.meddle()
	case 6:
		w.collect()
	case 7, 8, 9, 10, 11:
		w.addressManager()
	default:
		i := w.random.IntN(len(w.controllers))
		w.views[i].Advance(w.random)
		err := w.pass(i, place)
		if !errors.Is(err, history.ErrLost) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
			w.must(err) // what is being deleted takes no finalizer any more: hence invalid
		}
	}
}

// rest checks what must hold once nothing happens any more.
func (w *model) rest() {
	held := 0
	for _, place := range w.places {
		data, found := named[infrav1.Metal3Data](w, place.data)
		switch {
		case place.alive && !found:
			w.t.Fatalf("%s lives and has no data", place.machine)
		case place.alive && len(place.configured) != 2:
			w.t.Fatalf("%s lives and has %v: %+v", place.machine, place.configured, data.Status)
		case place.alive:
			held += 2
		}
	}
	if len(w.given) != held {
		w.t.Fatalf("%d addresses are needed, and given are %v", held, w.given)
	}
}

// begin makes a machine with its claim and its data, where there is none. The
// machine may have the name of the one before.
func (w *model) begin(p *place) {
	if _, found := named[infrav1.Metal3Data](w, p.data); found {
		return
	}
	w.bury(p)
	if p.machine == "" || w.random.IntN(2) == 0 {
		w.made++
		p.machine = fmt.Sprintf("m-%d", w.made)
	}
	owned := func(kind string, version schema.GroupVersion, by client.Object) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: w.Namespace, Name: p.machine, Labels: map[string]string{"place": p.data},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: version.String(), Kind: kind, Name: by.GetName(), UID: by.GetUID(), Controller: ptr.To(true),
			}},
		}
	}
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: p.machine}}
	w.create(machine)
	metal3Machine := &infrav1.Metal3Machine{
		ObjectMeta: owned("Machine", clusterv1.GroupVersion, machine),
		Spec:       infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}},
	}
	w.create(metal3Machine)
	claim := &infrav1.Metal3DataClaim{
		ObjectMeta: owned(machineKind, infrav1.GroupVersion, metal3Machine),
		Spec:       infrav1.Metal3DataClaimSpec{Template: &infrav1.Metal3ObjectRef{Name: "nodes"}},
	}
	w.create(claim)
	data := &infrav1.Metal3Data{
		ObjectMeta: owned("Metal3DataClaim", infrav1.GroupVersion, claim),
		Spec: infrav1.Metal3DataSpec{
			Index:    ptr.To(p.index),
			Template: &infrav1.Metal3ObjectRef{Name: "nodes"}, Claim: &infrav1.Metal3ObjectRef{Name: claim.Name},
		},
	}
	data.Name, data.Finalizers = p.data, []string{infrav1.DataClaimFinalizer}
	data.OwnerReferences = append(data.OwnerReferences, metav1.OwnerReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: machineKind, Name: metal3Machine.Name, UID: metal3Machine.UID,
	})
	w.create(data)
	p.uid, p.alive, p.configured = data.UID, true, nil
}

// end goes one step of the end of a machine: its data is deleted, its claim goes,
// and its data is let go.
func (w *model) end(p *place) {
	data, found := named[infrav1.Metal3Data](w, p.data)
	switch {
	case !found:
		w.bury(p) // no controller had even seen it
	case data.DeletionTimestamp.IsZero():
		w.remove(data)
	case controllerutil.ContainsFinalizer(data, infrav1.DataClaimFinalizer):
		w.dropFinalizer(data, infrav1.DataClaimFinalizer)
	default:
		w.bury(p)
	}
}

// bury removes a machine with its claim.
func (w *model) bury(p *place) {
	p.alive, p.configured = false, nil
	if claim, found := named[infrav1.Metal3DataClaim](w, p.machine); found {
		w.remove(claim)
	}
	if machine, found := named[infrav1.Metal3Machine](w, p.machine); found {
		w.remove(machine)
	}
	if machine, found := named[clusterv1.Machine](w, p.machine); found {
		w.remove(machine)
	}
}

// meddle does what a user might: it deletes a claim on the pool or a rendered
// secret, or makes the pool larger.
func (w *model) meddle() {
	switch w.random.IntN(3) {
	case 0:
		w.size++
		w.grow()
	case 1:
		if secret, found := named[corev1.Secret](w, w.places[w.random.IntN(len(w.places))].machine+"-networkdata"); found {
			w.remove(secret)
		}
	default:
		if claims := history.Now[ipamv1alpha1.IPClaim](w.History); len(claims) > 0 {
			w.remove(claims[w.random.IntN(len(claims))])
		}
	}
}

// collect does what the garbage collector does: what belonged to a Metal3Data that
// is gone is deleted.
func (w *model) collect() {
	there := map[types.UID]bool{}
	for _, data := range history.Now[infrav1.Metal3Data](w.History) {
		there[data.UID] = true
	}
	for _, secret := range history.Now[corev1.Secret](w.History) {
		if !there[metav1.GetControllerOf(secret).UID] {
			w.remove(secret)
		}
	}
	for _, claim := range history.Now[ipamv1alpha1.IPClaim](w.History) {
		if !there[metav1.GetControllerOf(claim).UID] && claim.DeletionTimestamp.IsZero() {
			w.remove(claim)
		}
	}
}

// grow makes the pool look different.
func (w *model) grow() {
	pool, _ := named[ipamv1alpha1.IPPool](w, "pool")
	after := pool.DeepCopy()
	after.Spec.Pools = append(after.Spec.Pools, ipamv1alpha1.Pool{Prefix: 24})
	w.must(w.Client.Patch(w.t.Context(), after, client.MergeFrom(pool)))
}

// addressManager looks at one claim.
func (w *model) addressManager() {
	if claims := history.Now[ipamv1alpha1.IPClaim](w.History); len(claims) > 0 {
		w.answer(claims[w.random.IntN(len(claims))].DeepCopy())
	}
}

// answer gives a claim the first free address, or refuses it for good; it takes
// the address back once only its own finalizer is left on the claim.
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
		w.must(w.Client.Patch(w.t.Context(), claim, client.MergeFrom(before)))
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
		w.must(w.Client.Status().Patch(w.t.Context(), claim, client.MergeFrom(before)))
	}
}

// address makes the object of an address, if there is none of an earlier time.
func (w *model) address(address string) {
	if _, found := named[ipamv1alpha1.IPAddress](w, "pool-"+address); found {
		return
	}
	w.create(&ipamv1alpha1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pool-" + address},
		Spec:       ipamv1alpha1.IPAddressSpec{Address: ipamv1alpha1.IPAddressStr(address), Prefix: 24},
	})
}

// pass is one pass of a controller, unless it is amid one of that place.
func (w *model) pass(i int, p *place) error {
	key := fmt.Sprintf("controller %d, %s", i, p.data)
	if w.busy[key] {
		return nil
	}
	w.t.Log(key)
	w.busy[key] = true
	defer delete(w.busy, key)
	_, err := w.controllers[i].Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.Namespace, Name: p.data}})
	return err
}

// check checks what must hold at all times.
func (w *model) check() {
	owners := map[types.UID]types.UID{}
	for _, claim := range history.Now[ipamv1alpha1.IPClaim](w.History) {
		owners[claim.UID] = metav1.GetControllerOf(claim).UID
	}
	for _, p := range w.places {
		if p.alive && p.configured == nil {
			p.configured = w.rendered(p)
		}
		for _, address := range p.configured {
			if claim, given := w.given[address]; !given || owners[claim] != p.uid {
				w.t.Fatalf("%s (%s) has %s, which is given to %q of %q", p.machine, p.uid, address, claim, owners[claim])
			}
		}
	}
}

// rendered reads the addresses that a machine is configured with.
func (w *model) rendered(p *place) []string {
	secret, found := named[corev1.Secret](w, p.machine+"-networkdata")
	if !found || metav1.GetControllerOf(secret).UID != p.uid {
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

// named finds what has a name now. It must not be changed.
func named[T any, PT interface {
	*T
	client.Object
}](w *model, name string) (PT, bool) {
	all := history.Now[T, PT](w.History)
	at := slices.IndexFunc(all, func(o PT) bool { return o.GetName() == name })
	if at < 0 {
		return nil, false
	}
	return all[at], true
}

func (w *model) create(o client.Object) { w.must(w.Client.Create(w.t.Context(), o)) }

func (w *model) remove(o client.Object) { w.must(w.Client.Delete(w.t.Context(), o)) }

func (w *model) dropFinalizer(o client.Object, finalizer string) {
	after, _ := o.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(after, finalizer)
	w.must(w.Client.Patch(w.t.Context(), after, client.MergeFrom(o)))
}

func (w *model) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}
