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

package inplace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// tokenLength is how many hexadecimal digits of the hash a token has.
const tokenLength = 32

// tokenOf identifies what a server is to run. It is the text of the rebuild, so that a manager
// that was killed goes on with the same one. What the bootstrap provider fills in when it
// makes data is no part of it.
func tokenOf(version string, machine infrav1.Metal3MachineSpec, config bootstrapv1.KubeadmConfigSpec) string {
	config.JoinConfiguration.Discovery = bootstrapv1.Discovery{}
	text, err := json.Marshal([]any{version, machine.Image, machine.CustomDeploy, config})
	if err != nil {
		panic(fmt.Sprintf("API types are no JSON: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:tokenLength]
}

// updateFacts is everything that the next step of an update may depend on.
type updateFacts struct {
	// Updating is true if Cluster API has chosen the Machine for an update in place.
	Updating bool
	// ControlPlane is true if the Machine is one of a control plane.
	ControlPlane bool
	// Token stands for what the server is to run.
	Token string
	// Rebuild and Rebuilt are what the Metal3Machine was asked by last, and rebuilt for.
	Rebuild, Rebuilt string
	// Marked is true if the Metal3Machine names the KubeadmConfig as one that is paused.
	Marked bool
	// Message is that of its condition HostClaimReady, if that is False.
	Message string
	// Asked is true if the Metal3Machine was asked in this very call, so that Message is about
	// what it was asked before.
	Asked bool
	// Data is the bootstrap data.
	Data dataFacts
}

// dataFacts is what is known of the bootstrap data of a Machine.
type dataFacts struct {
	// Supported is true if the kubeadm bootstrap provider makes it.
	Supported bool
	// Token is the one that the data was held for last; empty means never.
	Token string
	// Held is true if the KubeadmConfig is paused by us, and Paused if it is by another.
	Held, Paused bool
	// Made is true if the KubeadmConfig reports data, and Named if the Machine names it.
	Made, Named bool
}

// updateStep is what is to be done now.
type updateStep string

// The steps of an update, in their order. The bootstrap provider makes data once, and again only
// when neither its object nor the Machine names any. Each of the two would restore the name on the
// other, so it is paused until both are cleared.
const (
	// stepMark has the Metal3Machine name the KubeadmConfig, whose pause the machine controller ends.
	stepMark updateStep = "Mark"
	// stepHold pauses the KubeadmConfig and takes the used token off its spec.
	stepHold updateStep = "Hold"
	// stepForget has the status of the KubeadmConfig forget the data.
	stepForget updateStep = "Forget"
	// stepUnname takes the name of the data off the Machine. A server without is not booted.
	stepUnname updateStep = "Unname"
	// stepAsk asks for the server to be written anew.
	stepAsk updateStep = "Ask"
	// stepRelease takes back a hold that was not needed. That of an empty server, or of an update that was
	// called off, is ended by the machine controller.
	stepRelease updateStep = "Release"
	// stepWait has nothing to do now.
	stepWait updateStep = "Wait"
	// stepDone means that the server runs what it should.
	stepDone updateStep = "Done"
	// stepRefuse means that the Machine cannot be updated in place.
	stepRefuse updateStep = "Refuse"
)

// updatePlan is the next step, and the answer to Cluster API.
type updatePlan struct {
	Step    updateStep
	Message string
}

// nextPlan returns the next step of an update. It is taken from what is observed alone, so that it
// does not matter who has taken the ones before.
func nextPlan(o updateFacts) updatePlan {
	switch {
	case !o.Updating:
		return updatePlan{stepRefuse, "Cluster API has not marked Machine and Metal3Machine for an update in place"}
	case o.ControlPlane:
		return updatePlan{stepRefuse, "The server of a control plane is not written anew, since its member of etcd would lose its data"}
	case !o.Data.Supported:
		return updatePlan{stepRefuse, "The bootstrap data is not made from a KubeadmConfig, so that no new data can be made"}
	case o.Rebuild == o.Token && o.Rebuilt == o.Token && o.Data.Held:
		return updatePlan{stepRelease, "The server runs what it should"}
	case o.Rebuild == o.Token && o.Rebuilt == o.Token:
		return updatePlan{stepDone, ""}
	case o.Data.Paused:
		return updatePlan{stepWait, "The KubeadmConfig is paused: remove the annotation, so that new bootstrap data can be made"}
	case o.Rebuild != o.Token:
		return begin(o)
	default:
		return goOn(o)
	}
}

const withdrawn = "The bootstrap data of the server is withdrawn, since it cannot join a second time"

// begin has the former data forgotten before it asks for the rebuild, so that no server boots
// with it.
func begin(o updateFacts) updatePlan {
	switch {
	case !o.Marked:
		return updatePlan{stepMark, withdrawn}
	case !o.Data.Held || o.Data.Token != o.Token:
		return updatePlan{stepHold, withdrawn}
	case o.Data.Made:
		return updatePlan{stepForget, withdrawn}
	case o.Data.Named:
		return updatePlan{stepUnname, withdrawn}
	default:
		return updatePlan{stepAsk, "The server is asked to be written anew"}
	}
}

// goOn follows the rebuild. Cluster API may write the name of former data once more from a
// cache that is behind.
func goOn(o updateFacts) updatePlan {
	message := o.Message
	if message == "" || o.Asked {
		message = "Waiting for the server to be written anew"
	}
	switch {
	case o.Data.Held && !o.Marked:
		return updatePlan{stepMark, message}
	case o.Data.Held && o.Data.Made:
		return updatePlan{stepForget, message}
	case o.Data.Held && o.Data.Named:
		return updatePlan{stepUnname, message}
	default:
		return updatePlan{stepWait, message}
	}
}
