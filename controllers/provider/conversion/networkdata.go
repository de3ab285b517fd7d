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

package conversion

import (
	"cmp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func networkDataUp(in *v1beta1.NetworkData) *infrav1.NetworkData {
	if in == nil {
		return nil
	}
	out := &infrav1.NetworkData{Networks: in.Networks, Services: in.Services}
	if in.Links != nil {
		out.Links = &infrav1.NetworkDataLink{
			Ethernets: each(in.Links.Ethernets, ethernetUp),
			Bonds:     each(in.Links.Bonds, bondUp),
			Vlans:     each(in.Links.Vlans, vlanUp),
		}
	}
	return out
}

func networkDataDown(in *infrav1.NetworkData) *v1beta1.NetworkData {
	if in == nil {
		return nil
	}
	out := &v1beta1.NetworkData{Networks: in.Networks, Services: in.Services}
	if in.Links != nil {
		out.Links = &v1beta1.NetworkDataLink{
			Ethernets: each(in.Links.Ethernets, ethernetDown),
			Bonds:     each(in.Links.Bonds, bondDown),
			Vlans:     each(in.Links.Vlans, vlanDown),
		}
	}
	return out
}

func each[In, Out any](in []In, convert func(In) Out) []Out {
	var out []Out
	for _, item := range in {
		out = append(out, convert(item))
	}
	return out
}

func ethernetUp(in v1beta1.NetworkDataLinkEthernet) infrav1.NetworkDataLinkEthernet {
	return infrav1.NetworkDataLinkEthernet{
		Type: in.Type, ID: in.ID, Name: in.Name, MTU: in.MTU, MACAddress: (*infrav1.NetworkLinkMAC)(in.MACAddress),
	}
}

func ethernetDown(in infrav1.NetworkDataLinkEthernet) v1beta1.NetworkDataLinkEthernet {
	return v1beta1.NetworkDataLinkEthernet{
		Type: in.Type, ID: in.ID, Name: in.Name, MTU: in.MTU, MACAddress: (*v1beta1.NetworkLinkMAC)(in.MACAddress),
	}
}

func bondUp(in v1beta1.NetworkDataLinkBond) infrav1.NetworkDataLinkBond {
	return infrav1.NetworkDataLinkBond{
		BondMode: in.BondMode, BondXmitHashPolicy: in.BondXmitHashPolicy, ID: in.ID, Name: in.Name, MTU: in.MTU,
		MACAddress: (*infrav1.NetworkLinkMAC)(in.MACAddress), Parameters: parametersUp(in.Parameters), BondLinks: in.BondLinks,
	}
}

func bondDown(in infrav1.NetworkDataLinkBond) v1beta1.NetworkDataLinkBond {
	return v1beta1.NetworkDataLinkBond{
		BondMode: in.BondMode, BondXmitHashPolicy: in.BondXmitHashPolicy, ID: in.ID, Name: in.Name, MTU: in.MTU,
		MACAddress: (*v1beta1.NetworkLinkMAC)(in.MACAddress), Parameters: parametersDown(in.Parameters), BondLinks: in.BondLinks,
	}
}

func vlanUp(in v1beta1.NetworkDataLinkVlan) infrav1.NetworkDataLinkVlan {
	return infrav1.NetworkDataLinkVlan{
		VlanID: in.VlanID, VlanLink: in.VlanLink, ID: in.ID, Name: in.Name, MTU: in.MTU,
		MACAddress: (*infrav1.NetworkLinkMAC)(in.MACAddress),
	}
}

func vlanDown(in infrav1.NetworkDataLinkVlan) v1beta1.NetworkDataLinkVlan {
	return v1beta1.NetworkDataLinkVlan{
		VlanID: in.VlanID, VlanLink: in.VlanLink, ID: in.ID, Name: in.Name, MTU: in.MTU,
		MACAddress: (*v1beta1.NetworkLinkMAC)(in.MACAddress),
	}
}

func parametersUp(in map[string]apiextensionsv1.JSON) []infrav1.BondParameter {
	var out []infrav1.BondParameter
	for name, value := range in {
		out = append(out, infrav1.BondParameter{Name: name, Value: ptr.To(value)})
	}
	slices.SortFunc(out, func(a, b infrav1.BondParameter) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func parametersDown(in []infrav1.BondParameter) map[string]apiextensionsv1.JSON {
	out := map[string]apiextensionsv1.JSON{}
	for _, parameter := range in {
		out[parameter.Name] = ptr.Deref(parameter.Value, apiextensionsv1.JSON{Raw: []byte("null")})
	}
	return out
}
