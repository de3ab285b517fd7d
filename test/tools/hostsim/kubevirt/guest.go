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

package kubevirt

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/netdata"
)

// Hosts shows VirtualMachines as BareMetalHosts, so that their guests are played as those of servers.
type Hosts struct{ client.Reader }

// Get reads the VirtualMachine of that name.
func (h Hosts) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	host, ok := object.(*bmov1alpha1.BareMetalHost)
	if !ok {
		return h.Reader.Get(ctx, key, object, options...)
	}
	vm := &virtv1.VirtualMachine{}
	if err := h.Reader.Get(ctx, key, vm, options...); err != nil {
		return err
	}
	*host = hostOf(vm)
	return nil
}

// hostOf is a server with what a VirtualMachine has.
func hostOf(vm *virtv1.VirtualMachine) bmov1alpha1.BareMetalHost {
	host := bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: vm.Namespace, Name: vm.Name, UID: vm.UID, Annotations: vm.Annotations,
	}}
	host.Status.PoweredOn = vm.Status.PrintableStatus == virtv1.VirtualMachineStatusRunning
	host.Status.Provisioning.State = bmov1alpha1.StateAvailable
	host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{RAMMebibytes: 2048, CPU: bmov1alpha1.CPU{Count: 2}}
	for _, card := range vm.Spec.Template.Spec.Domain.Devices.Interfaces {
		host.Status.HardwareDetails.NIC = append(host.Status.HardwareDetails.NIC, bmov1alpha1.NIC{Name: card.Name, MAC: card.MacAddress})
	}
	for _, volume := range vm.Spec.Template.Spec.Volumes {
		switch {
		case volume.Secret != nil:
			boot := &corev1.SecretReference{Name: volume.Secret.SecretName}
			host.Spec.UserData, host.Spec.MetaData, host.Spec.NetworkData = boot, boot, boot
		case volume.DataVolume != nil && host.Status.PoweredOn:
			host.Status.Provisioning.State = bmov1alpha1.StateProvisioned
		case volume.DataVolume != nil && vm.Status.PrintableStatus == virtv1.VirtualMachineStatusStopped:
			host.Status.Provisioning.State = bmov1alpha1.StateProvisioned
		}
	}
	for _, template := range vm.Spec.DataVolumeTemplates {
		host.Status.Provisioning.Image.URL = template.Name // another disk is another deployment
		if web := template.Spec.Source.HTTP; web != nil {
			host.Status.Provisioning.Image.URL += " " + web.URL
		}
	}
	return host
}

// Drives shows the Secret that a VirtualMachine boots with as those of a server.
type Drives struct{ client.Reader }

// Get reads the Secret of that name.
func (d Drives) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := d.Reader.Get(ctx, key, object, options...); err != nil {
		return err
	}
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return nil
	}
	network, err := networkData(secret.Data["network-config"])
	if err != nil {
		return err
	}
	secret.Data = map[string][]byte{"userData": secret.Data["user-data"], "metaData": secret.Data["meta-data"], "networkData": network}
	return nil
}

// device is one of a network configuration of cloud-init, version 1.
type device struct {
	Type, Name string
	MAC        string   `json:"mac_address"`
	Members    []string `json:"bond_interfaces"`
	VLANLink   string   `json:"vlan_link"`
	VLANID     int      `json:"vlan_id"`
	Subnets    []struct {
		Type, Address string
		Routes        []struct{ Destination, Gateway string }
	}
}

// networkData is what a network configuration says, as a server would be told it.
func networkData(raw []byte) ([]byte, error) {
	config := struct{ Config []device }{}
	if err := yaml.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("no network configuration: %w", err)
	}
	document := netdata.Document{}
	for _, d := range config.Config {
		link := netdata.Link{ID: d.Name, Type: "phy", MAC: d.MAC}
		switch d.Type {
		case "bond":
			link.Type, link.Bond = "bond", d.Members
		case "vlan":
			link = netdata.Link{ID: d.Name, Type: "vlan", VLAN: d.VLANLink, VLANID: d.VLANID, VLANMAC: d.MAC}
		case "nameserver":
			continue
		}
		document.Links = append(document.Links, link)
		for i, subnet := range d.Subnets {
			network, err := networkOf(subnet.Type, subnet.Address)
			if err != nil {
				return nil, fmt.Errorf("device %s: %w", d.Name, err)
			}
			network.ID, network.Link = d.Name+"-"+strconv.Itoa(i), d.Name
			document.Networks = append(document.Networks, network)
		}
	}
	return yaml.Marshal(document)
}

func networkOf(kind, address string) (netdata.Network, error) {
	types := map[string]string{"static": "ipv4", "static6": "ipv6", "dhcp4": "ipv4_dhcp", "dhcp6": "ipv6_dhcp", "ipv6_slaac": "ipv6_slaac"}
	network := netdata.Network{Type: types[kind]}
	if address == "" {
		return network, nil
	}
	prefix, err := netip.ParsePrefix(address)
	network.Address, network.Netmask = prefix.Addr().String(), strconv.Itoa(prefix.Bits())
	return network, err
}
