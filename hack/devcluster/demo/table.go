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

package demo

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// row is one machine in the final table.
type row struct {
	Machine, Claim, Host, Node, ProviderID, Addresses string
	Ready                                             time.Duration
}

func newRow(m world.Machine, ready time.Duration) row {
	r := row{
		Machine:    m.Name(),
		Node:       m.Machine.Status.NodeRef.Name,
		ProviderID: m.Machine.Spec.ProviderID,
		Addresses:  addresses(m.Machine.Status.Addresses),
		Ready:      ready,
	}
	if m.Claim != nil {
		r.Claim = m.Claim.Name
	}
	if m.Host != nil {
		r.Host = m.Host.Namespace + "/" + m.Host.Name
	}
	return r
}

// table lays rows out in columns.
func table(rows []row) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MACHINE\tCLAIM\tHOST\tNODE\tPROVIDER ID\tADDRESSES\tREADY AFTER")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Machine, orDash(r.Claim), orDash(r.Host),
			orDash(r.Node), orDash(r.ProviderID), orDash(r.Addresses), seconds(r.Ready))
	}
	// A strings.Builder takes everything.
	_ = w.Flush()
	return text.String()
}

// addresses lists the IP addresses, each once; names are in the table already.
func addresses(all []clusterv1.MachineAddress) string {
	var found []string
	seen := map[string]bool{}
	for _, address := range all {
		ip := address.Type == clusterv1.MachineInternalIP || address.Type == clusterv1.MachineExternalIP
		if ip && !seen[address.Address] {
			seen[address.Address] = true
			found = append(found, address.Address)
		}
	}
	return strings.Join(found, ",")
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
