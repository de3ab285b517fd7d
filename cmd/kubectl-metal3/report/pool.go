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

package report

import (
	"cmp"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// Free is the use of a host that a claim can get.
const Free = "free"

// Host is a host of a pool, or with Hosts a count of hosts that have all else in common.
type Host struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name,omitempty"`
	// State is that of baremetal-operator; Use is free, or why no claim can get the host.
	State string `json:"state,omitempty"`
	Use   string `json:"use,omitempty"`
	// Tenant and Claim are the consumer of the host.
	Tenant string `json:"tenant,omitempty"`
	Claim  string `json:"claim,omitempty"`
	Error  string `json:"error,omitempty"`
	Hosts  int    `json:"hosts,omitempty"`
}

// Hosts returns the hosts by namespace and name.
func Hosts(hosts []bmov1alpha1.BareMetalHost) []Host {
	rows := make([]Host, 0, len(hosts))
	for i := range hosts {
		h := &hosts[i]
		row := Host{
			Namespace: h.Namespace, Name: h.Name, State: binding.StateName(h),
			Use: cmp.Or(string(selection.Free(h)), Free), Error: oneLine(h.Status.ErrorMessage),
		}
		if ref := h.Spec.ConsumerRef; ref != nil {
			row.Tenant, row.Claim = ref.Namespace, ref.Name
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compareHosts)
	return rows
}

// ByState counts hosts by namespace, state and use.
func ByState(hosts []Host) []Host {
	return count(hosts, func(h Host) Host { return Host{Namespace: h.Namespace, State: h.State, Use: h.Use} })
}

// ByTenant counts hosts by namespace, tenant and state.
func ByTenant(hosts []Host) []Host {
	return count(hosts, func(h Host) Host {
		use := h.Use
		if h.Tenant != "" {
			use = ""
		}
		return Host{Namespace: h.Namespace, Tenant: h.Tenant, State: h.State, Use: use}
	})
}

func count(hosts []Host, group func(Host) Host) []Host {
	counts := map[Host]int{}
	for _, h := range hosts {
		counts[group(h)]++
	}
	rows := make([]Host, 0, len(counts))
	for row, n := range counts {
		row.Hosts = n
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compareHosts)
	return rows
}

func compareHosts(a, b Host) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Tenant, b.Tenant),
		cmp.Compare(a.State, b.State), cmp.Compare(a.Use, b.Use))
}

// Claim is a HostClaim with what it waits for.
type Claim struct {
	Link

	Cluster string `json:"cluster,omitempty"`
	// Host is <namespace>/<name> of the host that the claim has or is about to get.
	Host string `json:"host,omitempty"`
	// Phase is the reason of Provisioned, Admitted the status of the condition.
	Phase    string `json:"phase,omitempty"`
	Admitted string `json:"admitted,omitempty"`
}

// Claims returns the claims by namespace and name.
func Claims(claims []bmov1alpha1.HostClaim) []Claim {
	rows := make([]Claim, 0, len(claims))
	for i := range claims {
		c := &claims[i]
		row := Claim{Link: claimLink(c), Cluster: c.Labels[clusterv1.ClusterNameLabel]}
		if host := c.Status.BareMetalHost; host != nil {
			row.Host = host.Namespace + "/" + host.Name
		}
		row.Phase = binding.ConditionOf(c.Status.Conditions, bmov1alpha1.ProvisionedCondition).Reason
		row.Admitted = string(binding.ConditionOf(c.Status.Conditions, infrav1.AdmittedCondition).Status)
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// Waiting returns the claims that are not ready.
func Waiting(claims []Claim) []Claim {
	return slices.DeleteFunc(claims, func(c Claim) bool { return !c.Waits() })
}
