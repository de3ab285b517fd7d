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

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// history is what has happened to hosts, claims and copied secrets, version by
// version, and which invariants did not hold on the way. Versions of all kinds
// are comparable, since they count the writes to one etcd.
type history struct {
	mu sync.Mutex
	// hosts are all versions of each host, the oldest first; gone are those that do
	// not exist any more.
	hosts map[client.ObjectKey][]*bmov1alpha1.BareMetalHost
	gone  map[client.ObjectKey]bool
	// binds and frees are in the order in which they were seen.
	binds, frees []change
	// copies are the secrets that were copied for a claim, by claim and name.
	copies map[types.UID]map[string]lifetime
	// associated is, by host, the claim that reports it and is not being deleted.
	associated map[client.ObjectKey]types.UID
	// misses is true if its API server is killed: the last versions of deleted objects may not
	// be seen.
	misses bool
	broken []string
}

// miss notes that the API server is about to be killed.
func (h *history) miss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.misses = true
}

// change is a consumerRef that came or went.
type change struct {
	host    client.ObjectKey
	claim   corev1.ObjectReference
	version uint64
}

// lifetime is the version at which a secret was seen first and, once it is gone,
// that of its deletion.
type lifetime struct {
	from, to uint64
}

func newHistory() *history {
	return &history{
		hosts:      map[client.ObjectKey][]*bmov1alpha1.BareMetalHost{},
		gone:       map[client.ObjectKey]bool{},
		copies:     map[types.UID]map[string]lifetime{},
		associated: map[client.ObjectKey]types.UID{},
	}
}

// record begins to write the history down. It ends with the context.
func record(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (*history, error) {
	copied, err := labels.NewRequirement(infrav1.SecretKindLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	objects, err := cache.New(config, cache.Options{Scheme: scheme, ByObject: map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Label: labels.NewSelector().Add(*copied)},
	}})
	if err != nil {
		return nil, err
	}
	h := newHistory()
	go func() {
		// It ends without an error when the context does; a failure shows below.
		_ = objects.Start(ctx)
	}()
	for _, kind := range []struct {
		object client.Object
		see    func(object any, deleted bool)
	}{
		{&bmov1alpha1.BareMetalHost{}, as(h, h.seeHost)},
		{&bmov1alpha1.HostClaim{}, as(h, h.seeClaim)},
		{&corev1.Secret{}, as(h, h.seeCopy)},
	} {
		informer, err := objects.GetInformer(ctx, kind.object)
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind.object, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { kind.see(object, false) },
			UpdateFunc: func(_, object any) { kind.see(object, false) },
			DeleteFunc: func(object any) { kind.see(object, true) },
		}); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// as calls see for objects of its kind, one at a time over all kinds.
func as[T any](h *history, see func(object T, deleted bool)) func(any, bool) {
	return func(object any, deleted bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if unseen, ok := object.(toolscache.DeletedFinalStateUnknown); ok && h.misses {
			if host, isHost := unseen.Obj.(*bmov1alpha1.BareMetalHost); isHost {
				h.gone[client.ObjectKeyFromObject(host)] = true
				return
			}
			object = unseen.Obj
		}
		if typed, ok := object.(T); ok {
			see(typed, deleted)
			return
		}
		h.breaks("the watch was interrupted: a %T was seen as %T", *new(T), object)
	}
}

// seeHost compares a version of a host with the one before.
func (h *history) seeHost(host *bmov1alpha1.BareMetalHost, deleted bool) {
	key := client.ObjectKeyFromObject(host)
	if deleted {
		h.left(key, host)
		return
	}
	before := &bmov1alpha1.BareMetalHost{}
	if known := h.hosts[key]; len(known) > 0 && !h.gone[key] {
		before = known[len(known)-1]
	}
	h.hosts[key] = append(h.hosts[key], host)
	delete(h.gone, key)
	was, is := claimOf(before), claimOf(host)
	switch {
	case was == nil && is != nil:
		h.binds = append(h.binds, change{key, *is, version(host)})
		h.bound(key, is.UID)
	case was != nil && host.Spec.ConsumerRef == nil:
		h.frees = append(h.frees, change{key, *was, version(host)})
		h.freed(key, before, host)
	case was != nil && is != nil && was.UID != is.UID && !followed(before, is):
		h.breaks("host %s went from claim %s/%s to %s/%s without being free", key, was.Namespace, was.Name, is.Namespace, is.Name)
	}
}

// claimOf is the claim that has a host; nil if none has, or a Metal3Machine as with CAPM3.
func claimOf(host *bmov1alpha1.BareMetalHost) *corev1.ObjectReference {
	if ref := host.Spec.ConsumerRef; ref == nil || ref.Kind != "Metal3Machine" {
		return ref
	}
	return nil
}

// left checks that a host that goes with a claim goes by a move: clusterctl has marked it, or an
// administrator has ended a move by hand.
func (h *history) left(key client.ObjectKey, host *bmov1alpha1.BareMetalHost) {
	h.gone[key] = true
	_, marked := host.Annotations[clusterctlv1.DeleteForMoveAnnotation]
	_, recorded := host.Annotations[infrav1.MovingAnnotation]
	if host.Spec.ConsumerRef != nil && !marked && !recorded {
		h.breaks("host %s was deleted while it had claim %s", key, host.Spec.ConsumerRef.UID)
	}
}

// followed reports whether the host was moved together with its claim, which has another UID since.
func followed(before *bmov1alpha1.BareMetalHost, claim *corev1.ObjectReference) bool {
	former := before.Spec.ConsumerRef
	return before.Annotations[infrav1.BoundHostUIDAnnotation] != string(before.UID) &&
		former.Name == claim.Name && former.Namespace == claim.Namespace && before.Namespace == claim.Namespace
}

// bound checks that the claim has no other host.
func (h *history) bound(key client.ObjectKey, claim types.UID) {
	for other, versions := range h.hosts {
		if h.gone[other] {
			continue
		}
		if ref := claimOf(versions[len(versions)-1]); other != key && ref != nil && ref.UID == claim {
			h.breaks("claim %s has the hosts %s and %s", claim, key, other)
		}
	}
}

// freed checks that nothing of the claim was on the host that it let go.
func (h *history) freed(key client.ObjectKey, before, host *bmov1alpha1.BareMetalHost) {
	if rest := remains(host); rest != "" {
		h.breaks("host %s was freed with %s", key, rest)
	}
	if before.Spec.AutomatedCleaningMode != bmov1alpha1.CleaningModeMetadata {
		h.breaks("host %s was freed after cleaning mode %q", key, before.Spec.AutomatedCleaningMode)
	}
}

// remains returns what a host has that a free one must not have; empty for nothing.
func remains(host *bmov1alpha1.BareMetalHost) string {
	spec, status := host.Spec, host.Status.Provisioning
	switch {
	case status.State != bmov1alpha1.StateAvailable:
		return "state " + string(status.State)
	case spec.Image != nil || spec.CustomDeploy != nil:
		return "an image asked for"
	case status.Image.URL != "" || status.CustomDeploy != nil:
		return "image " + status.Image.URL
	case spec.UserData != nil || spec.MetaData != nil || spec.NetworkData != nil:
		return "references to data"
	case host.Status.ErrorMessage != "":
		return "error " + host.Status.ErrorMessage
	}
	return ""
}

// seeClaim checks that no two claims report one host. A claim that is being
// deleted still names the host that it has given back a moment ago.
func (h *history) seeClaim(claim *bmov1alpha1.HostClaim, deleted bool) {
	for host, uid := range h.associated {
		if uid == claim.UID {
			delete(h.associated, host)
		}
	}
	ref := claim.Status.BareMetalHost
	if deleted || !claim.DeletionTimestamp.IsZero() || ref == nil ||
		!meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.AssociatedCondition) {
		return
	}
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	if other, found := h.associated[key]; found {
		h.breaks("the claims %s and %s both report host %s", other, claim.UID, key)
	}
	h.associated[key] = claim.UID
}

// seeCopy notes when a secret next to a host came and went.
func (h *history) seeCopy(secret *corev1.Secret, deleted bool) {
	claim := types.UID(secret.Labels[infrav1.SecretClaimUIDLabel])
	if h.copies[claim] == nil {
		h.copies[claim] = map[string]lifetime{}
	}
	life, known := h.copies[claim][secret.Name]
	if !known {
		life.from = version(secret)
	}
	if deleted {
		life.to = version(secret)
	}
	h.copies[claim][secret.Name] = life
}

func (h *history) breaks(format string, args ...any) {
	h.broken = append(h.broken, fmt.Sprintf(format, args...))
}

// violations lists which invariants did not hold so far. Secrets come by another
// watch than hosts, so that those are compared here and not as they come.
func (h *history) violations() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := append([]string{}, h.broken...)
	for _, free := range h.frees {
		for name, life := range h.copies[free.claim.UID] {
			if life.to == 0 || life.to > free.version {
				out = append(out, fmt.Sprintf("host %s was freed while secret %s of claim %s/%s was there",
					free.host, name, free.claim.Namespace, free.claim.Name))
			}
		}
	}
	return out
}

// version is the resourceVersion as a number.
func version(object client.Object) uint64 {
	number, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// TestHistoryNotices shows that the history of a run reports each invariant that is broken, and is
// silent about a run as it should be.
func TestHistoryNotices(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		given []any
		want  string // part of the only violation; empty for none
	}{
		"nothing in a bind, a release and the next bind": {
			[]any{
				someHost("h", 1, ""), someHost("h", 2, "one"), someClaim("one", "h"), someCopy("one", 3),
				gone(someCopy("one", 5)), someHost("h", 6, ""), gone(someClaim("one", "h")), someHost("h", 7, "two"), someClaim("two", "h"),
			}, "",
		},
		"nothing in a move of host and claim, there and back": {
			[]any{
				moved(someHost("h", 1, "one"), "bound"), gone(moved(someHost("h", 3, "one"), "bound")),
				moved(someHost("h", 4, "two"), "old"), moved(called(someHost("h", 5, "three"), "two"), "new"),
			}, "",
		},
		"a host that was deleted under its claim":  {[]any{someHost("h", 1, "one"), gone(someHost("h", 2, "one"))}, "was deleted while"},
		"a host that another claim took in a move": {[]any{moved(someHost("h", 1, "one"), "old"), moved(someHost("h", 2, "two"), "new")}, "without being free"},
		"a claim with two hosts":                   {[]any{someHost("h", 1, "one"), someHost("i", 2, "one")}, "has the hosts"},
		"a host with two claims":                   {[]any{someClaim("one", "h"), someClaim("two", "h")}, "both report host"},
		"a host that was never free":               {[]any{someHost("h", 1, "one"), someHost("h", 2, "two")}, "without being free"},
		"a release before the image went":          {[]any{someHost("h", 1, "one"), holding(someHost("h", 2, ""))}, "freed with image"},
		"a release before the data went":           {[]any{someHost("h", 1, "one"), knowing(someHost("h", 2, ""))}, "references to data"},
		"a release without cleaning":               {[]any{dirty(someHost("h", 1, "one")), someHost("h", 2, "")}, "cleaning mode"},
		"a release before a secret went":           {[]any{someHost("h", 1, "one"), someCopy("one", 2), someHost("h", 3, ""), gone(someCopy("one", 4))}, "while secret"},
		"a secret that stays":                      {[]any{someHost("h", 1, "one"), someCopy("one", 2), someHost("h", 3, "")}, "while secret"},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			h := newHistory()
			for _, object := range tt.given {
				h.replay(object)
			}
			got := h.violations()
			expect.That(t, tt.want == "" && len(got) == 0 || len(got) == 1 && tt.want != "" && strings.Contains(got[0], tt.want),
				"got violations %q, want one with %q", got, tt.want)
		})
	}
}

// replay shows the history one version. A host or secret with a deletionTimestamp is gone.
func (h *history) replay(object any) {
	switch o := object.(type) {
	case *bmov1alpha1.BareMetalHost:
		h.seeHost(o, o.DeletionTimestamp != nil)
	case *bmov1alpha1.HostClaim:
		h.seeClaim(o, false)
	case *corev1.Secret:
		h.seeCopy(o, o.DeletionTimestamp != nil)
	}
}

// someHost is a version of a host that one claim, or none, has.
func someHost(name string, version int, claim types.UID) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name, ResourceVersion: fmt.Sprint(version)}}
	host.Status.Provisioning.State = bmov1alpha1.StateAvailable
	if claim != "" {
		host.Spec.ConsumerRef = &corev1.ObjectReference{Namespace: "tenant", Name: string(claim), UID: claim}
		host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
	}
	return host
}

// moved is a host that clusterctl takes away, or that came so and was bound as another.
func moved(host *bmov1alpha1.BareMetalHost, uid types.UID) *bmov1alpha1.BareMetalHost {
	host.Namespace, host.UID = host.Spec.ConsumerRef.Namespace, uid
	host.Annotations = map[string]string{infrav1.BoundHostUIDAnnotation: "bound", clusterctlv1.DeleteForMoveAnnotation: ""}
	return host
}

// called gives the claim of the host another name.
func called(host *bmov1alpha1.BareMetalHost, claim string) *bmov1alpha1.BareMetalHost {
	host.Spec.ConsumerRef.Name = claim
	return host
}

// gone is an object that is being deleted.
func gone[T client.Object](object T) T {
	now := metav1.Now()
	object.SetDeletionTimestamp(&now)
	return object
}

func holding(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	host.Status.Provisioning.Image.URL = "http://images.example.com/node"
	return host
}

func knowing(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	host.Spec.UserData = &corev1.SecretReference{Name: "data"}
	return host
}

func dirty(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
	return host
}

// someClaim is a claim that reports a host.
func someClaim(uid types.UID, host string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: string(uid), UID: uid},
		Status: bmov1alpha1.HostClaimStatus{
			BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: host},
			Conditions:    []metav1.Condition{{Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionTrue}},
		},
	}
}

// someCopy is a secret that was copied for a claim.
func someCopy(claim types.UID, version int) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "infra", Name: "copy-" + string(claim), ResourceVersion: fmt.Sprint(version),
		Labels: map[string]string{infrav1.SecretClaimUIDLabel: string(claim)},
	}}
}
