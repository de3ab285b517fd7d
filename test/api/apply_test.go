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

package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster API's topology controller finds out by a dry run of server-side apply
// whether a template has changed, and rolls machines out if so. Nothing that the
// server adds, defaults above all, may look like a change.
func TestApplyingATemplateAgainChangesNothing(t *testing.T) {
	const (
		topology = client.FieldOwner("capi-topology")
		machine  = "template: {spec: {image: {url: 'http://i/1', checksum: a}}}"
		network  = `networkData:
  links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth0}}], bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a], parameters: [{name: miimon, value: 100}]}]}
  networks: {ipv4: [{id: n1, link: a, fromPoolRef: {name: p}, routes: [{network: 0.0.0.0, gateway: {fromPoolRef: {name: p}}}]}]}
metaData: {indexes: [{key: k}], ipAddressesFromPool: [{key: k, name: p}]}`
	)
	namespace := server.Namespace(t, "apply", nil)
	full := func(kind string) *unstructured.Unstructured {
		object := everyField(t, kind, namespace)
		delete(object.Object, "status")
		return object
	}
	named := func(object *unstructured.Unstructured) *unstructured.Unstructured {
		object.SetName("short")
		return object
	}
	tests := map[string]*unstructured.Unstructured{
		"a Metal3ClusterTemplate with everything":     full("Metal3ClusterTemplate"),
		"a Metal3MachineTemplate with everything":     full("Metal3MachineTemplate"),
		"a Metal3DataTemplate with everything":        full("Metal3DataTemplate"),
		"a Metal3RemediationTemplate with everything": full("Metal3RemediationTemplate"),
		"a Metal3ClusterTemplate with defaults":       named(newObject(t, "Metal3ClusterTemplate", "template: {spec: {controlPlaneEndpoint: {host: h}}}")),
		"a Metal3MachineTemplate with defaults":       named(newObject(t, "Metal3MachineTemplate", machine)),
		"a Metal3DataTemplate with defaults":          named(newObject(t, "Metal3DataTemplate", network)),
		"a Metal3RemediationTemplate with defaults":   named(newObject(t, "Metal3RemediationTemplate", "template: {spec: {strategy: {}}}")),
	}
	for name, manifest := range tests {
		t.Run(name, func(t *testing.T) {
			manifest.SetNamespace(namespace)
			applied := func(options ...client.ApplyOption) map[string]any {
				object := manifest.DeepCopy()
				options = append(options, topology)
				if err := server.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
					t.Fatal(err)
				}
				return object.Object
			}
			first := applied()
			if diff := cmp.Diff(first, applied(client.DryRunAll)); diff != "" {
				t.Errorf("by a dry run (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(first, applied()); diff != "" {
				t.Errorf("in earnest (-first +second):\n%s", diff)
			}
		})
	}
}

// Lists are merged by their keys, so that two owners can each hold an entry, and
// routes as a whole, since they have no key.
func TestEntriesOfSeveralOwners(t *testing.T) {
	namespace := server.Namespace(t, "owners", nil)
	cluster := func(domain string) *unstructured.Unstructured {
		object := newObject(t, "Metal3Cluster", "failureDomains: [{name: "+domain+"}]")
		object.SetNamespace(namespace)
		object.SetName("shared")
		return object
	}
	var last *unstructured.Unstructured
	for owner, domain := range map[string]string{"one": "a", "two": "b"} {
		last = cluster(domain)
		if err := server.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(last), client.FieldOwner(owner)); err != nil {
			t.Fatal(err)
		}
	}
	domains, _, err := unstructured.NestedSlice(last.Object, "spec", "failureDomains")
	if err != nil || len(domains) != 2 {
		t.Errorf("failure domains of two owners: %v, %v", domains, err)
	}
}
