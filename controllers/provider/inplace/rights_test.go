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
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// grants are the rules of the ClusterRole, by group, resource and verb.
func grants(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../config/in-place-updates/component/role.yaml")
	expect.NoError(t, err)
	role := &rbacv1.ClusterRole{}
	expect.NoError(t, yaml.Unmarshal(text, role))
	var all []string
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			all = append(all, verb+" "+rule.APIGroups[0]+" "+rule.Resources[0])
		}
	}
	return all
}

// TestRightsAreThoseOfTheRole shows that an update is begun with the rights that the role gives,
// and with no others.
func TestRightsAreThoseOfTheRole(t *testing.T) {
	var asked []string
	for _, r := range rights() {
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		asked = append(asked, r.Verb+" "+r.Group+" "+resource)
	}
	if diff := cmp.Diff(grants(t), asked); diff != "" {
		t.Errorf("rights (-role +asked):\n%s", diff)
	}
}

// TestNoUpdateWithoutRights shows that nothing is offered for a namespace where an update could be
// begun by Cluster API, and not be carried out.
func TestNoUpdateWithoutRights(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	powerless, err := server.User("provider-without-the-role")
	expect.NoError(t, err)
	offered := func() *runtimehooksv1.CanUpdateMachineSetResponse {
		request := &runtimehooksv1.CanUpdateMachineSetRequest{Current: side("v1", "http://x/1"), Desired: side("v2", "http://x/2")}
		request.Desired.MachineSet.Namespace = w.machine.Namespace
		response := &runtimehooksv1.CanUpdateMachineSetResponse{}
		w.CanUpdateMachineSet(t.Context(), request, response)
		w.expect(string(response.Status), "Success")
		return response
	}
	if response := offered(); !response.MachineSetPatch.IsDefined() {
		t.Errorf("with all rights nothing is offered: %s", response.Message)
	}
	w.Client = powerless
	response := offered()
	if response.MachineSetPatch.IsDefined() || response.InfrastructureMachineTemplatePatch.IsDefined() {
		t.Error("an update is offered without the rights for it")
	}
	w.expect(response.Message, "The provider manager may not get kubeadmconfigs in this namespace: bind the ClusterRole capm3-in-place-updates "+
		"there, or leave the namespace out of the ExtensionConfig")
}
