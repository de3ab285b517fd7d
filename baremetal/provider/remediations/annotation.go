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

package remediations

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

const (
	// HoldOff is the value of the annotation that holds a server off: its operating system is
	// not asked, since it does not answer.
	HoldOff = `{"mode":"hard"}`

	// maxKeyName is the limit of the part of a key after the slash.
	maxKeyName = 63
	// hashLength is how many characters of its hash stand for the end of a long name.
	hashLength = 8
)

// Key is the annotation by which the remediation of this name holds a server off. It is made
// from the name and not from the UID, so that it is found again after a move.
func Key(remediation string) string {
	_, prefix, _ := strings.Cut(infrav1.RemediationRebootPrefix, "/")
	if room := maxKeyName - len(prefix); len(remediation) > room {
		sum := sha256.Sum256([]byte(remediation))
		remediation = remediation[:room-hashLength-1] + "-" + hex.EncodeToString(sum[:])[:hashLength]
	}
	return infrav1.RemediationRebootPrefix + remediation
}

// ReadClaim says what a claim, nil when there is none, means for the remediation of this name.
func ReadClaim(claim *bmov1alpha1.HostClaim, remediation string) Claim {
	state := claims.Read(claim)
	c := Claim{Phase: state.Phase, Deleting: state.Deleting, Power: claims.ReadPower(claim)}
	if claim == nil {
		return c
	}
	c.Marked = claim.Annotations[infrav1.UnhealthyClaimAnnotation] == "true"
	key := Key(remediation)
	for found := range claim.Annotations {
		switch {
		case found == key:
			c.Held = true
		case strings.HasPrefix(found, infrav1.RemediationRebootPrefix):
			c.Rival = true
		}
	}
	return c
}
