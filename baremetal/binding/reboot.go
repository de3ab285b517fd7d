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

package binding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

const (
	// maxHeld is how many reboot annotations a claim may hold its host off with.
	maxHeld = 16
	// maxRebootID bounds what a forged request can put on the host.
	maxRebootID = 128
	// maxShown is how much of a value is repeated that cannot be understood.
	maxShown = 64
	// maxKeyName is the limit of the part of a key after the slash.
	maxKeyName = 63
)

// Reboot is how a server is to be rebooted. ID is empty in what tenants write. On a host it
// distinguishes our one-shot from those of others; baremetal-operator ignores it.
type Reboot struct {
	Mode  bmov1alpha1.RebootMode `json:"mode,omitempty"`
	Force bool                   `json:"force,omitempty"`
	ID    string                 `json:"hostclaim,omitempty"`
}

// Reboots is what a claim asks for by its annotations. What cannot be understood
// is in Invalid and nowhere else.
type Reboots struct {
	// Asked is the one-shot that the tenant asks for, nil if there is none.
	Asked *Reboot
	// Request is the one-shot that was taken over and is on its way to the host.
	Request *Reboot
	// Held are the reboots that last until the tenant takes them back, by the key
	// that they have on the host.
	Held map[string]Reboot
	// Invalid are the faults, each with key and remedy.
	Invalid []string
}

// ReadReboots reads the reboot annotations of a claim.
func ReadReboots(claim *bmov1alpha1.HostClaim) Reboots {
	out := Reboots{Held: map[string]Reboot{}}
	for _, key := range slices.Sorted(maps.Keys(claim.Annotations)) {
		id, held := strings.CutPrefix(key, bmov1alpha1.RebootAnnotationPrefix+"/")
		oneShot, request := key == bmov1alpha1.RebootAnnotationPrefix, key == infrav1.RebootRequestAnnotation
		if !held && !oneShot && !request {
			continue
		}
		reboot, err := parseReboot(claim.Annotations[key], request)
		switch {
		case request && err != nil:
			out.Invalid = append(out.Invalid, "annotation "+key+" was changed by hand; remove it")
		case err != nil:
			out.Invalid = append(out.Invalid, fmt.Sprintf("annotation %s has the value %s, which cannot be understood; "+
				`leave it empty, or write {"mode":"hard"} or {"mode":"soft"}, if need be with "force":true`,
				key, text.Shorten(text.Printable(claim.Annotations[key]), maxShown)))
		case request:
			out.Request = reboot
		case oneShot:
			out.Asked = reboot
		case len(out.Held) == maxHeld:
			out.Invalid = append(out.Invalid, fmt.Sprintf("annotation %s is one too many; remove all but %d of them", key, maxHeld))
		default:
			out.Held[heldKey(id)] = *reboot
		}
	}
	return out
}

// parseReboot reads the value of a reboot annotation. It is stricter than
// baremetal-operator, which takes anything for a soft reboot.
func parseReboot(value string, request bool) (*Reboot, error) {
	reboot := &Reboot{}
	if value == "" && !request {
		return reboot, nil
	}
	decoder := json.NewDecoder(bytes.NewBufferString(value))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(reboot); err != nil {
		return nil, err
	}
	modes := []bmov1alpha1.RebootMode{"", bmov1alpha1.RebootModeHard, bmov1alpha1.RebootModeSoft}
	if !errors.Is(decoder.Decode(&struct{}{}), io.EOF) || !slices.Contains(modes, reboot.Mode) || (reboot.ID != "") != request || len(reboot.ID) > maxRebootID {
		return nil, fmt.Errorf("mode %q or ID %q out of place", reboot.Mode, reboot.ID)
	}
	return reboot, nil
}

// text is the reboot as the value of an annotation.
func (r Reboot) text() string {
	if r == (Reboot{}) {
		return ""
	}
	value, err := json.Marshal(r)
	if err != nil {
		return "" // strings and booleans can always be marshaled
	}
	return string(value)
}

// heldKey is the key on the host of a reboot that a claim holds under an ID.
func heldKey(id string) string {
	_, own, _ := strings.Cut(infrav1.HeldRebootPrefix, "/")
	if room := maxKeyName - len(own); len(id) > room {
		hash := shortHash(id)
		id = id[:room-len(hash)-1] + "-" + hash
	}
	return infrav1.HeldRebootPrefix + id
}

// RebootStep is the next step on the way of a one-shot reboot to its host.
type RebootStep string

// The steps of a one-shot reboot. Each but the waits is one locked write.
const (
	// NoReboot means that none is asked for.
	NoReboot RebootStep = "NoReboot"
	// AcceptReboot turns the tenant's annotation into a request with an ID.
	AcceptReboot RebootStep = "AcceptReboot"
	// PassReboot puts the request on the host and notes its ID there.
	PassReboot RebootStep = "PassReboot"
	// CloseReboot removes a request that the host was given.
	CloseReboot RebootStep = "CloseReboot"
	// AwaitTurn waits for another one-shot to go from the host.
	AwaitTurn RebootStep = "AwaitTurn"
	// AwaitHost waits for a state of the host in which it would be rebooted.
	AwaitHost RebootStep = "AwaitHost"
)

// NextReboot returns the next step of the one-shot reboots of a claim.
//
//	tenant's annotation ──accept──▶ request ──pass──▶ host, with the ID ──close──▶ done
//
// A second one-shot waits as the tenant's annotation until the first is done.
// PassReboot holds only if the claim was read live after the host, see the comment of the package.
func NextReboot(r Reboots, host *bmov1alpha1.BareMetalHost) RebootStep {
	switch {
	case r.Request == nil && r.Asked == nil:
		return NoReboot
	case r.Request == nil:
		return AcceptReboot
	case host.Annotations[infrav1.LastRebootAnnotation] == r.Request.ID:
		return CloseReboot
	case !honorsReboot(host, r.Request.Force):
		return AwaitHost
	case metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.RebootAnnotationPrefix):
		return AwaitTurn
	default:
		return PassReboot
	}
}

// AcceptedReboot returns the claim with the tenant's one-shot as a request. Its
// ID is the version that the write is locked by, so no two requests share one.
func AcceptedReboot(claim *bmov1alpha1.HostClaim, asked Reboot) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	asked.ID = string(claim.UID) + "/" + claim.ResourceVersion
	delete(out.Annotations, bmov1alpha1.RebootAnnotationPrefix)
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.RebootRequestAnnotation, asked.text())
	return out
}

// PassedReboot returns the host with a request.
func PassedReboot(host *bmov1alpha1.BareMetalHost, request Reboot) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, bmov1alpha1.RebootAnnotationPrefix, request.text())
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.LastRebootAnnotation, request.ID)
	return out
}

// ClosedReboot returns the claim without its request.
func ClosedReboot(claim *bmov1alpha1.HostClaim) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	delete(out.Annotations, infrav1.RebootRequestAnnotation)
	return out
}

// WithHeld returns the host with the held reboots of its claim, and whether all of
// them are there. Those of others stay. Nothing is added to a host on which it
// would not be honored: baremetal-operator 0.13 takes reboot annotations away
// whenever it provisions or deprovisions, and writing them again and again would keep it
// from coming to an end.
func WithHeld(held map[string]Reboot, host *bmov1alpha1.BareMetalHost) (out *bmov1alpha1.BareMetalHost, complete bool) {
	out, complete = host.DeepCopy(), true
	for key := range host.Annotations {
		if _, wanted := held[key]; !wanted && strings.HasPrefix(key, infrav1.HeldRebootPrefix) {
			delete(out.Annotations, key)
		}
	}
	for key, reboot := range held {
		value, found := out.Annotations[key]
		switch {
		case found && value == reboot.text():
		case honorsReboot(host, reboot.Force):
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, reboot.text())
		default:
			complete = false
		}
	}
	return out, complete
}

// honorsReboot reports whether baremetal-operator would reboot the host, rather than
// ignore the annotation or take it away for another reason. A host that is parked
// or about to be wiped is not worth it.
func honorsReboot(host *bmov1alpha1.BareMetalHost, force bool) bool {
	if paused(host) || detached(host) || IsParked(host) || !host.DeletionTimestamp.IsZero() {
		return false
	}
	switch host.Status.Provisioning.State {
	case bmov1alpha1.StateProvisioned:
		return HasPayload(host)
	case bmov1alpha1.StateExternallyProvisioned:
		return true
	case bmov1alpha1.StateAvailable, bmov1alpha1.StateReady:
		return force && !HasPayload(host)
	default:
		return false
	}
}

// withoutReboots takes the reboots of a claim off its host. Those of others stay.
func withoutReboots(host *bmov1alpha1.BareMetalHost) {
	for key, value := range host.Annotations {
		ours, err := parseReboot(value, true)
		oneShot := key == bmov1alpha1.RebootAnnotationPrefix && err == nil && ours.ID != ""
		if oneShot || strings.HasPrefix(key, infrav1.HeldRebootPrefix) {
			delete(host.Annotations, key)
		}
	}
	delete(host.Annotations, infrav1.LastRebootAnnotation)
}
