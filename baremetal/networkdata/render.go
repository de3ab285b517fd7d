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

// Package networkdata renders how a server sets up its network, in the format
// that OpenStack's network_data.json defines and cloud-init reads.
//
// Its inputs are the networkData of a data template and the facts of one
// machine. The output is YAML, the same bytes for the same input. What
// cloud-init would reject is an error that names the link, network or route and
// the remedy. The package asks no pool and writes no secret.
package networkdata

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/templatecheck"
)

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

// Document returns what the document with a key of a Secret holds: network data, or the metadata that
// belongs to it.
func Document(key string, spec infrav1.Metal3DataTemplateSpec, f metadata.Facts) ([]byte, error) {
	if key == secretkeys.MetaData {
		return metadata.Render(spec.MetaData, f)
	}
	return Render(spec.NetworkData, f)
}

// Render returns the network data as YAML. All errors of the template are
// returned together, in the order of the rendered document; those of its links come alone.
func Render(spec *infrav1.NetworkData, f metadata.Facts) ([]byte, error) {
	if spec == nil {
		spec = &infrav1.NetworkData{}
	}
	if problems := templatecheck.LinkProblems(spec, field.NewPath("spec", "networkData")); len(problems) > 0 {
		return nil, problems.ToAggregate()
	}
	r := &renderer{facts: f, assigned: ippool.Assigned{}}
	doc := document{
		Links:    r.links(spec.Links),
		Networks: r.networks(spec.Networks),
		Services: []service{},
	}
	if spec.Services != nil {
		doc.Services = r.services("networkData.services", ippool.Texts(spec.Services.DNS), metadata.AddressRef{Pool: spec.Services.DNSFromIPPool})
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
	facts    metadata.Facts
	assigned ippool.Assigned // pools that have given an address to a network
	problems []error
}

// fail notes a problem of one item of the template.
func (r *renderer) fail(item string, err error) {
	r.problems = append(r.problems, fmt.Errorf("%s: %w", item, err))
}

// services lists name servers: those of the template first, then those of the pool.
func (r *renderer) services(item string, servers []string, ref metadata.AddressRef) []service {
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

// TemplateError is that of an item of a template which cannot be rendered so that
// cloud-init would understand it.
type TemplateError struct {
	// Problem is what is wrong, with the value that is wrong.
	Problem string
	// Remedy is what the author of the template can do about it.
	Remedy string
}

func (e TemplateError) Error() string {
	return e.Problem + ": " + e.Remedy
}

// PoolError is that of an answer of a pool which does not fit where it is used.
type PoolError struct {
	// Address is what the pool was asked for.
	Address metadata.AddressRef
	// Problem is what is wrong with its answer.
	Problem string
	// Remedy is what the owner of the pool can do about it.
	Remedy string
}

func (e PoolError) Error() string {
	return fmt.Sprintf("pool %q %s: %s", e.Address.Pool, e.Problem, e.Remedy)
}
