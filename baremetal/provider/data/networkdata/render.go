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

package networkdata

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
)

// SecretKey is the key of a Secret that holds rendered network data.
const SecretKey = "networkData"

// document is the rendered form. Links are maps, since a bond may carry
// options that are not known here.
type document struct {
	Links    []link    `json:"links"`
	Networks []network `json:"networks"`
	Services []service `json:"services"`
}

type link map[string]any

type network struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	Link      string  `json:"link"`
	IPAddress string  `json:"ip_address,omitempty"`
	Netmask   string  `json:"netmask,omitempty"`
	Routes    []route `json:"routes"`
}

type route struct {
	Network  string    `json:"network"`
	Netmask  string    `json:"netmask"`
	Gateway  string    `json:"gateway"`
	Services []service `json:"services"`
}

type service struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// Render returns the network data as YAML. All errors of the template are
// returned together, in the order of the rendered document.
func Render(spec *infrav1.NetworkData, f facts.Facts) ([]byte, error) {
	if spec == nil {
		spec = &infrav1.NetworkData{}
	}
	r := &renderer{facts: f, types: map[string]string{}, assigned: ippool.Assigned{}}
	doc := document{
		Links:    r.links(spec.Links),
		Networks: r.networks(spec.Networks),
		Services: []service{},
	}
	if spec.Services != nil {
		doc.Services = r.services("networkData.services", texts(spec.Services.DNS), facts.AddressRef{Pool: spec.Services.DNSFromIPPool})
	}
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	rendered, err := yaml.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("marshal network data: %w", err)
	}
	return rendered, nil
}

// renderer collects what is wrong with a template while it is rendered.
type renderer struct {
	facts    facts.Facts
	types    map[string]string // type of each link, by its id
	assigned ippool.Assigned   // pools that have given an address to a network
	problems []error
}

// fail notes a problem of one item of the template.
func (r *renderer) fail(item string, err error) {
	r.problems = append(r.problems, fmt.Errorf("%s: %w", item, err))
}

// services lists name servers: those of the template first, then those of the pool.
func (r *renderer) services(item string, servers []string, ref facts.AddressRef) []service {
	rendered := []service{}
	if ref.Pool != "" {
		address, err := r.facts.Address(ref)
		if err != nil {
			r.fail(item, err)
		}
		servers = append(servers, address.DNSServers...)
	}
	for _, server := range servers {
		rendered = append(rendered, service{Type: "dns", Address: server})
	}
	return rendered
}

// texts turns addresses of any API type into plain strings.
func texts[T ~string](values []T) []string {
	plain := make([]string, 0, len(values))
	for _, value := range values {
		plain = append(plain, string(value))
	}
	return plain
}
