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

package metadata

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

// Facts is everything that a template may refer to.
type Facts struct {
	// Namespace is that of the Metal3Data, and so of the machine.
	Namespace string
	// Index is the index of the machine among those of the template.
	Index int32
	// Machine and Metal3Machine are the objects that the data is for.
	Machine       metav1.ObjectMeta
	Metal3Machine metav1.ObjectMeta
	// Host is the server behind the machine.
	Host hardware.Host
	// RemoteHost means that the server is registered in another cluster, where namespaces mean
	// something else. It follows the record of where the claim was made, not what an identityRef
	// asks for now.
	RemoteHost bool
	// Addresses are the answers of the pools.
	Addresses map[AddressRef]Address
}

// NewFacts gathers the facts of one machine. Addresses are not among them yet: which
// are asked for follows from the rest.
func NewFacts(
	data *infrav1.Metal3Data, machine *clusterv1.Machine, metal3Machine *infrav1.Metal3Machine, host hardware.Host,
) Facts {
	return Facts{
		Namespace:     data.Namespace,
		Index:         ptr.Deref(data.Spec.Index, 0),
		Machine:       machine.ObjectMeta,
		Metal3Machine: metal3Machine.ObjectMeta,
		Host:          host,
		RemoteHost:    remote(metal3Machine),
	}
}

// remote takes a record that cannot be read for one: names of servers are then
// not trusted to be unique.
func remote(machine *infrav1.Metal3Machine) bool {
	_, found, problem := identity.Read(claims.OwnerOf(machine), machine.Annotations)
	return found || problem != nil
}

// AddressRef names one of the addresses that a machine has from pools. The first from a pool has no
// Network; it is also the one that metadata refers to.
type AddressRef struct {
	// Pool is the name of the pool.
	Pool string
	// Network is the id of the network of the template that has the address for
	// itself, because another network has the first one.
	Network string
}

// Address is what a pool gave to the machine.
type Address struct {
	// Address is an IPv4 or IPv6 address without a prefix length.
	Address string
	// Prefix is the prefix length of its network; 0 when the pool has none.
	Prefix int32
	// Gateway is the router of that network; empty when the pool has none.
	Gateway string
	// DNSServers are the name servers that the pool recommends.
	DNSServers []string
}

// object returns the object that a template names.
func (f Facts) object(object infrav1.DataObject) metav1.ObjectMeta {
	switch object {
	case infrav1.DataObjectMachine:
		return f.Machine
	case infrav1.DataObjectMetal3Machine:
		return f.Metal3Machine
	default:
		return metav1.ObjectMeta{Name: f.Host.Name, Labels: f.Host.Labels, Annotations: f.Host.Annotations}
	}
}

// Annotation returns an annotation that must exist and not be empty.
func (f Facts) Annotation(object infrav1.DataObject, key string) (string, error) {
	source := f.object(object)
	if value := source.Annotations[key]; value != "" {
		return value, nil
	}
	remedy := "set it"
	if object == infrav1.DataObjectBareMetalHost {
		remedy = "let the owner of the host set it and publish it by the HostDeployPolicy"
	}
	return "", fmt.Errorf("%s %q has no annotation %q: %s", object, source.Name, key, remedy)
}

// InterfaceMAC returns the MAC address of a network interface of the server.
func (f Facts) InterfaceMAC(name string) (string, error) {
	if mac, ok := f.Host.MAC(name); ok {
		return mac, nil
	}
	known := f.Host.Interfaces()
	return "", interfaceNotFoundError{Interface: name, Known: known, NoMAC: slices.Contains(known, name)}
}

// bootMAC returns the MAC address that the server boots from.
func (f Facts) bootMAC() (string, error) {
	if f.Host.BootMACAddress == "" {
		return "", fmt.Errorf("host %q has no boot MAC address: set spec.bootMACAddress of the BareMetalHost", f.Host.Name)
	}
	return f.Host.BootMACAddress, nil
}

// Address returns what a pool gave to the machine.
func (f Facts) Address(ref AddressRef) (Address, error) {
	address, ok := f.Addresses[ref]
	if !ok {
		return Address{}, AddressNotFoundError(ref)
	}
	return address, nil
}

// ForeignHost reports whether the server is registered in another namespace or in
// another cluster than the machine, so that names of servers need not be
// unique among the machines of a cluster.
func (f Facts) ForeignHost() bool {
	return f.RemoteHost || f.Host.Namespace != f.Namespace
}

// interfaceNotFoundError is that of a template which names a network interface that
// the server does not have, or not with a MAC address.
type interfaceNotFoundError struct {
	// Interface is the name that the template asks for.
	Interface string
	// Known are the names that it could have asked for.
	Known []string
	// NoMAC means that the server has the interface, and its MAC address is unknown.
	NoMAC bool
}

func (e interfaceNotFoundError) Error() string {
	known := "none, the host has not been inspected"
	if len(e.Known) > 0 {
		known = strings.Join(e.Known, ", ")
	}
	if e.NoMAC {
		return fmt.Sprintf("network interface %q of the host has no MAC address in the HardwareData (it has: %s): "+
			"let the owner of the host inspect it again, or name another interface in a new Metal3DataTemplate", e.Interface, known)
	}
	return fmt.Sprintf("the host has no network interface %q (it has: %s): name one of those in a new Metal3DataTemplate, "+
		"or select hosts that have it", e.Interface, known)
}

// IsInterfaceNotFound finds the error of a network interface that is not there in the chain of err.
func IsInterfaceNotFound(err error) bool {
	return errors.As(err, &interfaceNotFoundError{})
}

// AddressNotFoundError is that of an address which is not known.
type AddressNotFoundError AddressRef

func (e AddressNotFoundError) Error() string {
	if e.Network != "" {
		return fmt.Sprintf("pool %q has not given an address for network %q yet", e.Pool, e.Network)
	}
	return fmt.Sprintf("pool %q has not given an address yet", e.Pool)
}
