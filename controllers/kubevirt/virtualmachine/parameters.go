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

// Package virtualmachine decides how the VirtualMachine of a HostClaim looks: by its class, and by what the claim wants.
package virtualmachine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	virtv1 "kubevirt.io/api/core/v1"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
)

// Controller answers the claims of classes with controllerName hostclaim.metal3.io/kubevirt.
func Controller() hostclass.Controller {
	return hostclass.Controller{
		Name: hostclaimv1.KubeVirtControllerName, Finalizer: "hostclaim.metal3.io/hostclaim.metal3.io.kubevirt",
		Check: func(parameters *runtime.RawExtension) error {
			_, err := ParametersOf(parameters)
			return err
		},
	}
}

// Parameters are those of a HostClaimClass of virtual machines.
type Parameters struct {
	// Instancetype gives the virtual machines their processors and memory. Required.
	Instancetype *virtv1.InstancetypeMatcher `json:"instancetype"`
	// Instancetypes are the names of others of the same kind, which a claim may choose by the argument instancetype.
	Instancetypes []string `json:"instancetypes,omitempty"`
	// Preference has defaults of devices; nil for those of KubeVirt.
	Preference *virtv1.PreferenceMatcher `json:"preference,omitempty"`
	// RootDisk is what the image is written to. Nil for a disk that starts anew with each boot, from an image in a registry.
	RootDisk *RootDisk `json:"rootDisk,omitempty"`
	// Networks are what the virtual machines are connected to, eth0 first. Without any, it is the network of Pods.
	Networks []Network `json:"networks,omitempty"`
	// TopologyKey is the label of Nodes whose value is the failure domain; topology.kubernetes.io/zone by default.
	TopologyKey string `json:"topologyKey,omitempty"`
}

// RootDisk is the disk of a virtual machine.
type RootDisk struct {
	// Size is that of the disk. Required.
	Size resource.Quantity `json:"size"`
	// StorageClassName is where the disk is; nil for the default of the cluster.
	StorageClassName *string `json:"storageClassName,omitempty"`
}

// Network is a network of virtual machines.
type Network struct {
	// NetworkName is the NetworkAttachmentDefinition: its name, after its namespace and a slash if that is not the claim's.
	// Empty for the network of Pods.
	NetworkName string `json:"networkName,omitempty"`
}

// ParametersOf reads the parameters of a class. The error names the field and the remedy.
func ParametersOf(raw *runtime.RawExtension) (Parameters, error) {
	if raw == nil {
		return Parameters{}, errors.New("spec.parameters is missing: name an instancetype")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw.Raw))
	decoder.DisallowUnknownFields()
	p := Parameters{}
	if err := decoder.Decode(&p); err != nil {
		return Parameters{}, fmt.Errorf("spec.parameters: %w: see docs/kubevirt.md for its fields", err)
	}
	if p.TopologyKey == "" {
		p.TopologyKey = corev1.LabelTopologyZone
	}
	if len(p.Networks) == 0 {
		p.Networks = []Network{{}}
	}
	return p, p.validate()
}

func (p Parameters) validate() error {
	podNetworks := 0
	for i, n := range p.Networks {
		if n.NetworkName == "" {
			podNetworks++
		} else if !isName(strings.TrimPrefix(n.NetworkName, strings.SplitN(n.NetworkName+"/", "/", 2)[0]+"/")) {
			return fmt.Errorf("spec.parameters.networks[%d].networkName is %q: write the name of a NetworkAttachmentDefinition, "+
				"after its namespace and a slash if that is not the claim's", i, n.NetworkName)
		}
	}
	switch {
	case p.Instancetype == nil || p.Instancetype.Name == "":
		return errors.New("spec.parameters.instancetype.name is missing: name a VirtualMachineClusterInstancetype, or give another kind")
	case p.RootDisk != nil && p.RootDisk.Size.Sign() <= 0:
		return errors.New("spec.parameters.rootDisk.size must be positive, as in 20Gi")
	case podNetworks > 1:
		return errors.New("spec.parameters.networks has the network of Pods twice: give all but one a networkName")
	case len(validation.IsQualifiedName(p.TopologyKey)) > 0:
		return fmt.Errorf("spec.parameters.topologyKey is %q: write the key of a label of Nodes", p.TopologyKey)
	default:
		return nil
	}
}

func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// instancetypeArgument is the argument by which a claim chooses its instancetype.
const instancetypeArgument = "instancetype"

// With returns the parameters for a claim with these arguments.
func (p Parameters) With(arguments map[string]string) (Parameters, error) {
	for name, value := range arguments {
		if name != instancetypeArgument {
			return p, fmt.Errorf("the class knows no argument %q: remove it; %s is the only one", name, instancetypeArgument)
		}
		if value != p.Instancetype.Name && !slices.Contains(p.Instancetypes, value) {
			return p, fmt.Errorf("argument %s is %q: the class offers %s", name, value,
				strings.Join(append([]string{p.Instancetype.Name}, p.Instancetypes...), ", "))
		}
		chosen := *p.Instancetype
		chosen.Name = value
		p.Instancetype = &chosen
	}
	return p, nil
}
