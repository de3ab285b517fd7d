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

// Package metadata holds what a data template may refer to when it is rendered for one machine, lists the
// documents that the template asks for, and renders the metadata of these.
//
// The facts are names, labels, annotations, interfaces and addresses of the machine and its server; a fact
// that is missing is an error that names it and the remedy. The output is YAML with string values only, the
// same bytes for the same input. The package asks no pool and reads or writes nothing in an API server.
package metadata

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
)

// ProviderIDKey always carries the provider ID without its prefix, so that a
// template can pass it to the kubelet; no template can override it.
const ProviderIDKey = "providerid"

// Document is one of the documents that a server finds on its config drive. Each
// is in a secret of its own.
type Document struct {
	// Key is the key of the secret.
	Key string
	// Secret is the name of the secret, unless the Metal3Data names another one.
	Secret string
}

// Wanted lists the documents that a template asks for on behalf of a
// Metal3Machine: metadata first, then network data.
func Wanted(spec infrav1.Metal3DataTemplateSpec, machine string) []Document {
	var wanted []Document
	if spec.MetaData != nil {
		wanted = append(wanted, Document{Key: secretkeys.MetaData, Secret: SecretName(machine)})
	}
	if spec.NetworkData != nil {
		wanted = append(wanted, Document{Key: secretkeys.NetworkData, Secret: machine + "-networkdata"})
	}
	return wanted
}

// SecretName is the name of the secret with the metadata of a Metal3Machine.
func SecretName(machine string) string {
	return machine + "-metadata"
}

// Render returns the metadata as YAML.
func Render(spec *infrav1.MetaData, f Facts) ([]byte, error) {
	values, err := Values(spec, f)
	if err != nil {
		return nil, err
	}
	rendered, err := yaml.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("marshal metadata: %w", err)
	}
	return rendered, nil
}

// Values returns the metadata as keys and values. Where lists of the template
// share a key, the later writer wins. All errors of the template are returned
// together, in the order of the template.
func Values(spec *infrav1.MetaData, f Facts) (map[string]string, error) {
	if spec == nil {
		spec = &infrav1.MetaData{}
	}
	w := &writer{facts: f, values: map[string]string{}}
	w.hostInterfaces(spec.FromHostInterfaces)
	w.pools(spec)
	w.indexes(spec.Indexes)
	for _, entry := range spec.Namespaces {
		w.values[entry.Key] = f.Namespace
	}
	w.objects(spec)
	for _, entry := range spec.Strings {
		w.values[entry.Key] = entry.Value
	}
	w.identity()
	if len(w.problems) > 0 {
		return nil, errors.Join(w.problems...)
	}
	return w.values, nil
}

// writer collects entries, and what is wrong with those that cannot be rendered.
type writer struct {
	facts    Facts
	values   map[string]string
	problems []error
}

func (w *writer) set(list, key, value string, err error) {
	if err != nil {
		w.problems = append(w.problems, fmt.Errorf("metaData.%s[%s]: %w", list, key, err))
		return
	}
	w.values[key] = value
}

func (w *writer) hostInterfaces(entries []infrav1.MetaDataHostInterface) {
	for _, entry := range entries {
		var mac string
		var err error
		if ptr.Deref(entry.FromBootMAC, false) {
			mac, err = w.facts.bootMAC()
		} else {
			mac, err = w.facts.InterfaceMAC(entry.Interface)
		}
		w.set("fromHostInterfaces", entry.Key, mac, err)
	}
}

// pools writes what pools gave. A prefix length, gateway or name server that the
// pool does not know is an empty value.
func (w *writer) pools(spec *infrav1.MetaData) {
	w.pool("ipAddressesFromPool", spec.IPAddressesFromPool, func(a Address) string { return a.Address })
	w.pool("prefixesFromPool", spec.PrefixesFromPool, prefix)
	w.pool("gatewaysFromPool", spec.GatewaysFromPool, func(a Address) string { return a.Gateway })
	w.pool("dnsServersFromPool", spec.DNSServersFromPool, func(a Address) string { return strings.Join(a.DNSServers, ",") })
}

func prefix(a Address) string {
	if a.Prefix == 0 {
		return ""
	}
	return strconv.Itoa(int(a.Prefix))
}

func (w *writer) pool(list string, entries []infrav1.FromPool, value func(Address) string) {
	for _, entry := range entries {
		address, err := w.facts.Address(AddressRef{Pool: entry.Name})
		w.set(list, entry.Key, value(address), err)
	}
}

func (w *writer) indexes(entries []infrav1.MetaDataIndex) {
	for _, entry := range entries {
		number := int64(ptr.Deref(entry.Offset, 0)) + int64(w.facts.Index)*int64(max(entry.Step, 1))
		w.values[entry.Key] = entry.Prefix + strconv.FormatInt(number, 10) + entry.Suffix
	}
}

// objects writes names, labels and annotations. A label or annotation that is
// missing is an empty value.
func (w *writer) objects(spec *infrav1.MetaData) {
	for _, entry := range spec.ObjectNames {
		w.values[entry.Key] = w.facts.object(entry.Object).Name
	}
	for _, entry := range spec.FromLabels {
		w.values[entry.Key] = w.facts.object(entry.Object).Labels[entry.Label]
	}
	for _, entry := range spec.FromAnnotations {
		w.values[entry.Key] = w.facts.object(entry.Object).Annotations[entry.Annotation]
	}
}

// identity writes what makes a machine distinct from all others. Names of
// servers are unique among the servers of one namespace only; a server of
// another namespace takes the name of its machine, unless the template names it.
func (w *writer) identity() {
	if w.facts.ForeignHost() {
		machine := w.facts.Metal3Machine.Name
		w.setDefault("name", machine)
		w.setDefault("local-hostname", machine)
		w.setDefault("local_hostname", machine)
		w.setDefault("metal3-namespace", w.facts.Namespace)
	}
	id := nodes.ProviderID{Namespace: w.facts.Namespace, Host: w.facts.Host.Name, Machine: w.facts.Metal3Machine.Name}
	if !id.Valid() {
		w.problems = append(w.problems, fmt.Errorf("provider ID %q is incomplete: the host is not known yet", id.Path()))
	}
	w.values[ProviderIDKey] = id.Path()
}

func (w *writer) setDefault(key, value string) {
	if _, found := w.values[key]; !found {
		w.values[key] = value
	}
}
