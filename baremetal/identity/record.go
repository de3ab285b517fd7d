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

package identity

import (
	"encoding/json"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
)

// Record is what stands on a machine about the cluster that holds its claim. It
// is written before the first write to that cluster, so that the claim can be
// found and deleted whatever becomes of Metal3Cluster and status.
type Record struct {
	// Secret and Context are the credentials in effect. The Secret is one of the
	// machine's namespace.
	Secret  string `json:"secret"`
	Context string `json:"context,omitempty"`
	// Target is where they led.
	Target
	// Origin is the random UUID that the claim carries.
	Origin string `json:"origin"`
	// Machine is <namespace>/<name> of the machine that the record was made for. A
	// record that was copied along with a manifest names another one.
	Machine string `json:"machine"`
	// UID is that of the machine when it last made or took over the claim. A
	// machine that was moved or restored has another one.
	UID types.UID `json:"uid"`
	// Claim is the name of the claim where it was made in the namespace of the machine and
	// is kept there; empty for a claim that was made in another cluster.
	Claim string `json:"claim,omitempty"`
}

// NewRecord is the record of a machine that has none yet.
func NewRecord(owner claims.Owner, ref Ref, target Target, origin string) Record {
	return Record{
		Secret: ref.Secret, Context: ref.Context, Target: target,
		Origin: origin, Machine: nameOf(owner), UID: owner.UID,
	}
}

// Read returns the record among the annotations of a machine, and whether there
// is one. One that was made for another machine is none: two machines must never
// share a claim. One that cannot be read is a problem: there may be a
// claim that only the record could name.
func Read(owner claims.Owner, annotations map[string]string) (Record, bool, *Problem) {
	text, found := annotations[infrav1.EffectiveIdentityAnnotation]
	if !found {
		return Record{}, false, nil
	}
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil || !r.complete() {
		return Record{}, false, RecordUnreadable.Problem(infrav1.EffectiveIdentityAnnotation)
	}
	return r, r.Machine == nameOf(owner), nil
}

func (r Record) complete() bool {
	return r.Secret != "" && r.Server != "" && r.Namespace != "" && r.Origin != "" && r.Machine != "" && r.UID != ""
}

// Annotations are what the record looks like on its machine.
func (r Record) Annotations() map[string]string {
	text, err := json.Marshal(r) //nolint:gosec // the name of a Secret, not its content
	if err != nil {              // a struct of strings
		panic(err)
	}
	return map[string]string{infrav1.EffectiveIdentityAnnotation: string(text), infrav1.OriginKey: r.Origin}
}

// Ref is the reference to the credentials, for a machine of the namespace.
func (r Record) Ref(namespace string) Ref {
	return Ref{Namespace: namespace, Secret: r.Secret, Context: r.Context}
}

func nameOf(owner claims.Owner) string {
	return owner.Namespace + "/" + owner.Name
}

// Place names a target to people, and is what they confirm it by.
func (t Target) Place() string {
	return t.Server + "/" + t.Namespace
}

// Follow returns the record as it should be now that its credentials lead to the
// target. Other certificate authorities at the same address are rotation. Another
// address or namespace may be a mistake that would leave the claim, and its
// server, behind: it is a problem until it is confirmed by its Place.
func (r Record) Follow(now Target, confirmed string) (Record, *Problem) {
	if now.Place() != r.Place() && now.Place() != confirmed {
		return r, Moved.Problem(r.Secret, now.Place(), r.Place(), infrav1.ConfirmIdentityMoveAnnotation, now.Place())
	}
	r.Target = now
	return r, nil
}

// Note returns a message about an identityRef that differs from the record, or about a record that
// leads to a claim which was made without it; empty for any other.
func (r Record) Note(asked *infrav1.IdentityReference) string {
	switch {
	case asked == nil || asked.Name != r.Secret || asked.Context != r.Context:
		return fmt.Sprintf("This machine keeps Secret %q, by which its HostClaim was made; "+
			"another identityRef counts for new machines only", r.Secret)
	case r.Claim != "":
		return fmt.Sprintf("HostClaim %q stays where it is when this machine is moved", r.Claim)
	default:
		return ""
	}
}

// Standing is what a claim of another cluster is to a machine.
type Standing int

const (
	// Foreign means that the claim carries another origin, or none.
	Foreign Standing = iota
	// Held means that the claim is the machine's to write and to delete: it names the machine, or what the
	// machine was before it was moved or restored, so that the machine takes it over.
	Held
	// TakenOver means that the machine had the claim, and something of the same
	// origin has it now: a copy of the machine that was restored in
	// another management cluster.
	TakenOver
)

// StandingOf returns what a claim is to the machine with the record. A machine that
// has had the claim under its present UID does not take it back: two copies of a
// machine would otherwise take it from each other for ever, and the one that is
// deleted first would take the server of the other.
func StandingOf(claim *bmov1alpha1.HostClaim, owner claims.Owner, r Record) Standing {
	switch {
	case r.Origin == "" || claim.Labels[infrav1.OriginKey] != r.Origin:
		return Foreign
	case claims.ConsumerUID(claim) == owner.UID, r.UID != owner.UID:
		return Held
	default:
		return TakenOver
	}
}
