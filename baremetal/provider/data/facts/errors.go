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

package facts

import (
	"errors"
	"fmt"
	"strings"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// InterfaceNotFoundError says that a template names a network interface that
// the server does not have, or not with a MAC address.
type InterfaceNotFoundError struct {
	// Interface is the name that the template asks for.
	Interface string
	// Known are the names that it could have asked for.
	Known []string
	// NoMAC says that the server has the interface, and nothing tells its MAC address.
	NoMAC bool
}

func (e InterfaceNotFoundError) Error() string {
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

// IsInterfaceNotFound finds an InterfaceNotFoundError in the chain of err.
func IsInterfaceNotFound(err error) bool {
	return errors.As(err, &InterfaceNotFoundError{})
}

// BootMACNotFoundError says that a template wants the boot MAC address of a
// server that has none.
type BootMACNotFoundError struct {
	// Host is the name of the server.
	Host string
}

func (e BootMACNotFoundError) Error() string {
	return fmt.Sprintf("host %q has no boot MAC address: set spec.bootMACAddress of the BareMetalHost", e.Host)
}

// AnnotationNotFoundError says that a template takes a value from an
// annotation that is missing or empty.
type AnnotationNotFoundError struct {
	// Object is the kind of object, in the words of the template.
	Object infrav1.DataObject
	// Name is the name of the object.
	Name string
	// Annotation is the key that was looked for.
	Annotation string
}

func (e AnnotationNotFoundError) Error() string {
	remedy := "set it"
	if e.Object == infrav1.DataObjectBareMetalHost {
		remedy = "let the owner of the host set it and publish it by the HostDeployPolicy"
	}
	return fmt.Sprintf("%s %q has no annotation %q: %s", e.Object, e.Name, e.Annotation, remedy)
}

// AddressNotFoundError says that an address is not known.
type AddressNotFoundError AddressRef

func (e AddressNotFoundError) Error() string {
	if e.Network != "" {
		return fmt.Sprintf("pool %q has not given an address for network %q yet", e.Pool, e.Network)
	}
	return fmt.Sprintf("pool %q has not given an address yet", e.Pool)
}

// IsAddressNotFound finds an AddressNotFoundError in the chain of err.
func IsAddressNotFound(err error) bool {
	return errors.As(err, &AddressNotFoundError{})
}
