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

package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// Config is how a schedule is played.
type Config struct {
	// Steps is how long things happen before everything comes to rest.
	Steps int
	// Without are features that never occur.
	Without []Feature
	// Trace makes a failed schedule print everything that happened.
	Trace bool
	// Prefix starts the names of all namespaces.
	Prefix string
	// Backend makes the API server; nil for one in memory.
	Backend func(log *store.Log) store.Backend
}

// World is everything in one schedule.
type World struct {
	// Failure is the first invariant that did not hold.
	Failure *Violation
	// Counts are what was played.
	Counts map[string]int

	config   Config
	ctx      context.Context //nolint:containedctx // One life long, and the same for every coroutine.
	choices  Choices
	features map[Feature]bool
	table    table
	clock    *steady
	log      *store.Log
	backend  store.Backend
	managers []*manager
	writer   *pass // nil while a player writes
	step     int
	trace    []string
	// attention are claims and hosts of requests that stall: players like to
	// meddle with them.
	attention []client.ObjectKey
	// draining is whether nothing new happens any more.
	draining bool

	tenants, infra []string
	lives          map[types.UID]*life
	machines       map[types.UID]*machine
	// accepted are the one-shot reboots that were taken over from a claim, passed
	// those that a host was given.
	accepted, passed map[string]bool
	// restoring is whether an administrator recreates objects, which no
	// invariant judges.
	restoring bool
	// mayMove are the namespaces whose hosts the infrastructure team lets move.
	mayMove map[string]bool
	// forging is whether an administrator writes a consumerRef, and forged are the hosts
	// that have it from there.
	forging bool
	forged  map[types.UID]bool
	// gone are the hosts that claims have lost, by claim.
	gone map[types.UID]goneHost
	// beside is whether all hosts are in namespaces of tenants, and that all may move.
	// thereAndBack is whether a claim was moved twice, and has its host.
	beside, thereAndBack bool
	hosts                int
	serial               int
	// seen is what the other controller of claims has looked at.
	seen sight
	// deletions of claims have begun, and decide by what they have read.
	deletions []deletion
}

// deletion is one of a claim that no finalizer held as it was read.
type deletion struct {
	claim *store.Version
	end   func() error
}

// life is what one incarnation of a claim has gone through.
type life struct {
	namespace, name string
	// wiped, stripped, unrecorded and moved are what players did to it; lost is whether its
	// host was deleted.
	wiped, stripped, unrecorded, moved, lost bool
	// raced is set for one that was deleted by what was read before a finalizer was written.
	raced bool
	// hadHost is whether its status has named a host as bound or as lost.
	hadHost bool
	// forged is whether an administrator once named it on a host, intended are the hosts
	// that a manager recorded for it before a bind, and handed is whether an administrator
	// wrote the consumerRef of such a host before the manager could.
	forged, handed bool
	intended       map[types.NamespacedName]bool
	// forgedGone are the hosts that an administrator had name it and that were deleted.
	forgedGone map[types.NamespacedName]bool
	// reserved is whether it was once kept for the next machine.
	reserved bool
	// pausedForMove is whether it is to be moved next, loose that clusterctl could have moved
	// it since it was paused.
	pausedForMove, loose bool
	// wentUnmoved is whether it was not paused when it went, or carried block-move, so that no move took it.
	wentUnmoved bool
	// keeps is the host that was moved with it; hostless is whether none was, and so it gets
	// none. trips is how often it was moved or restored, and arrived whether it has its host
	// since the last time.
	keeps             types.UID
	hostless, arrived bool
	trips             int
}

// vanishes reports whether its finalizer may not have held it.
func (l *life) vanishes() bool { return l.stripped || l.moved || l.raced }

// goneHost is a host as it was when it was deleted, and its server.
type goneHost struct {
	host   *store.Version
	server *machine
}

// machine is the server behind a host.
type machine struct {
	// data is the claim whose data is on the disks.
	data types.UID
	// mode is the cleaning mode that the administrator wants.
	mode bmov1alpha1.AutomatedCleaningMode
	// bound is the version of the host that a bind has made, and seen the host before it.
	bound string
	seen  *store.Version
	// moving is the claim as it was when it was moved with the server, nil when both have
	// arrived or the claim has asked for something else.
	moving *bmov1alpha1.HostClaim
}

// Play plays one schedule to its end or to the first violation.
func Play(config Config, choices Choices) *World {
	w := &World{
		Counts: map[string]int{}, config: config, choices: choices,
		ctx:   ctrl.LoggerInto(context.Background(), logr.Discard()),
		clock: &steady{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		lives: map[types.UID]*life{}, machines: map[types.UID]*machine{},
		mayMove: map[string]bool{}, accepted: map[string]bool{}, passed: map[string]bool{}, forged: map[types.UID]bool{},
		gone: map[types.UID]goneHost{},
	}
	w.log = store.NewLog(w.observe)
	if config.Backend == nil {
		w.backend = store.NewMemory(w.log, w.clock)
	} else {
		w.backend = config.Backend(w.log)
	}
	w.features = drawFeatures(choices, config.Without)
	w.beside = w.features[Moved] && chance(choices, 2)
	if w.beside {
		calm(choices, w.features)
	}
	w.table = newTable(w.features)
	w.populate()
	w.managers[0].start()
	if w.beside {
		w.beginAtRest()
		w.count("schedules with hosts beside their claims")
	}
	for end := w.step + config.Steps; w.step < end && w.Failure == nil && !choices.Spent(); w.step++ {
		w.happen()
	}
	if w.Failure == nil {
		w.drain()
	}
	if w.Failure == nil {
		w.checkRest()
	}
	for _, m := range w.managers {
		m.crash()
	}
	for w.endDeletion() { // after a violation
	}
	return w
}

// populate makes namespaces, policies, hosts and secrets.
func (w *World) populate() {
	c := w.choices
	for i := range 1 + c.Intn(2) {
		w.tenants = append(w.tenants, w.namespace(fmt.Sprintf("tenant%d", i)))
	}
	for i := range 1 + c.Intn(2) {
		w.infra = append(w.infra, w.namespace(fmt.Sprintf("infra%d", i)))
	}
	for _, namespace := range w.infra {
		w.makePolicy(namespace)
	}
	hosts := 1 + c.Intn(4)
	if w.beside {
		hosts = maxHosts - 1
	}
	for range hosts {
		w.makeHost()
	}
	for _, namespace := range w.tenants {
		w.makeSecret(namespace, "boot")
		w.makeSecret(namespace, "net")
	}
	claims := 1 + c.Intn(2)
	if w.beside {
		claims = 2
	}
	for range claims {
		w.makeClaim()
	}
	w.managers = []*manager{{world: w, id: 0}, {world: w, id: 1}}
}

func (w *World) namespace(name string) string {
	labels := map[string]any{}
	if chance(w.choices, 2) {
		labels["tier"] = "gold"
	}
	name = w.config.Prefix + name
	annotations := map[string]any{}
	if w.mayMove[w.config.Prefix+name] = !chance(w.choices, 4) || w.beside; w.mayMove[w.config.Prefix+name] {
		annotations[infrav1.HostsMayMoveAnnotation] = "true"
	}
	w.create(store.Namespaces, map[string]any{"metadata": map[string]any{"name": name, "labels": labels, "annotations": annotations}})
	return name
}

// infraNamespace reports whether a namespace belongs to the infrastructure team.
func (w *World) infraNamespace(name string) bool {
	return slices.Contains(w.infra, name)
}

// create lets a player create an object.
func (w *World) create(kind store.Kind, object map[string]any) (*store.Version, bool) {
	v, err := w.backend.Create(w.ctx, kind, object, "player")
	if err != nil {
		w.tracef("player: create %s -> %v", kind, err)
		return nil, false
	}
	w.tracef("player: create %s %s", kind, show(v))
	return v, true
}

// createTyped is create for a Go object.
func (w *World) createTyped(kind store.Kind, object client.Object) (*store.Version, bool) {
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		w.fail("player", "%v", err)
		return nil, false
	}
	if meta, ok := body["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return w.create(kind, body)
}

// edit lets a player change an object, or its status.
func edit[T client.Object](w *World, who string, v *store.Version, subresource string, change func(T)) bool {
	before := v.Object()
	after, ok := before.DeepCopyObject().(T)
	if !ok {
		w.fail("player", "edits another kind than it thinks")
		return false
	}
	change(after)
	patch, err := client.MergeFrom(before).Data(after)
	if err != nil {
		w.fail("player", "%v", err)
		return false
	}
	return w.patch(who, v, subresource, patch)
}

// patch lets a player patch an object.
func (w *World) patch(who string, v *store.Version, subresource string, patch []byte) bool {
	if string(patch) == "{}" {
		return false
	}
	_, err := w.backend.Patch(w.ctx, store.Change{
		Kind: v.Kind, Key: v.Key, Subresource: subresource, Patch: patch, Manager: who,
	})
	w.tracef("%s: patch %s %s %s %s -> %v", who, v.Kind, subresource, v.Key, patch, err)
	return err == nil
}

// remove lets a player delete an object.
func (w *World) remove(who string, v *store.Version) bool {
	err := w.backend.Delete(w.ctx, v.Kind, v.Key, client.Preconditions{UID: &v.UID})
	w.tracef("%s: delete %s %s -> %v", who, v.Kind, v.Key, err)
	return err == nil
}

// pick returns one object of a kind that fits, if there is any.
func (w *World) pick(kind store.Kind, fits func(*store.Version) bool) (*store.Version, bool) {
	var found, attractive []*store.Version
	for _, v := range w.log.All(kind) {
		if fits(v) {
			found = append(found, v)
			if slices.Contains(w.attention, v.Key) {
				attractive = append(attractive, v)
			}
		}
	}
	if len(attractive) > 0 && !chance(w.choices, 3) {
		return one(w.choices, attractive), true
	}
	if len(found) == 0 {
		return nil, false
	}
	return one(w.choices, found), true
}

func claimOf(v *store.Version) *bmov1alpha1.HostClaim {
	claim, _ := v.Object().(*bmov1alpha1.HostClaim)
	return claim
}

func hostOf(v *store.Version) *bmov1alpha1.BareMetalHost {
	host, _ := v.Object().(*bmov1alpha1.BareMetalHost)
	return host
}
