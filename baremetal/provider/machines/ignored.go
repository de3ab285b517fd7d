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

package machines

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// tellsIgnored tells what of the spec asks for something else than the server was given. The
// API server accepts such a change, since Cluster API could act on it, and the server is left
// as it is, since the change would wipe it.
func tellsIgnored(o Observed, p *Plan) {
	fields := append(ignoredWork(o), ignoredChoice(o)...)
	if len(fields) == 0 {
		return
	}
	p.wait(infrav1.SpecAppliedCondition, infrav1.ChangeIgnoredReason, strings.Join(fields, ", ")+
		" differs from what the server was given, and nothing acts on that: have the Machine replaced, "+
		"as a changed Metal3MachineTemplate does, or put back what the server was given")
}

// ignoredWork compares what the server was told to run. Copies of secrets next to a claim in
// another cluster follow the spec; the hostclaim manager there tells of those that came late.
func ignoredWork(o Observed) []string {
	d := o.Claim.Deployment
	if d == nil || o.rebuild() != notRebuilding {
		return nil
	}
	spec, local := o.Machine.Spec, o.Remote == nil
	var fields []string
	for _, f := range []struct {
		name    string
		differs bool
	}{
		{"spec.image", !reflect.DeepEqual(d.Image, claims.ImageOf(spec.Image, claims.PullSecretOf(d.Image)))},
		{"spec.customDeploy", !reflect.DeepEqual(d.CustomDeploy, claims.CustomDeployOf(spec.CustomDeploy))},
		{"the user data", local && o.Machine.Bootstrap.Secret != "" && o.Machine.Bootstrap.Secret != d.UserData},
		{"spec.metaData", local && namesOther(spec.MetaData, d.MetaData)},
		{"spec.networkData", local && namesOther(spec.NetworkData, d.NetworkData)},
	} {
		if f.differs {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// ignoredChoice compares what cannot change once there is a host, or data.
func ignoredChoice(o Observed) []string {
	var fields []string
	spec := o.Machine.Spec
	switch uses := usesTemplate(spec); {
	case o.Data.Template == "":
	case uses && o.Data.ChosenFor != "":
	case uses && spec.DataTemplate.Name != o.Data.Template, !uses && o.Claim.Deployment != nil:
		fields = append(fields, "spec.dataTemplate")
	}
	if !o.Claim.HasHost() {
		return fields
	}
	asked := claims.Desired(*wanted(o)).Spec
	if !claims.SameSelector(asked.HostSelector, o.Claim.Selector) {
		fields = append(fields, "spec.hostSelector")
	}
	// A preference excludes no host, so that the claim may have been made for another one.
	if !o.Machine.SoftFailureDomain && asked.FailureDomain != o.Claim.FailureDomain {
		fields = append(fields, "spec.failureDomain")
	}
	return fields
}

func namesOther(ref *corev1.SecretReference, given string) bool {
	return firstName(ref, given) != given
}
