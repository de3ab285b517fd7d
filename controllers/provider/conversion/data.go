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

	"k8s.io/utils/ptr"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func dataUp(in *v1beta1.Metal3Data, out *infrav1.Metal3Data) {
	out.Spec = infrav1.Metal3DataSpec{
		Index:       in.Spec.Index,
		MetaData:    in.Spec.MetaData,
		NetworkData: in.Spec.NetworkData,
		Claim:       refUp(in.Spec.Claim),
		Template:    refUp(in.Spec.Template),
	}
	out.Status = infrav1.Metal3DataStatus(in.Status)
}

func dataDown(in *infrav1.Metal3Data, out *v1beta1.Metal3Data) {
	out.Spec = v1beta1.Metal3DataSpec{
		Index:       in.Spec.Index,
		MetaData:    in.Spec.MetaData,
		NetworkData: in.Spec.NetworkData,
		Claim:       refDown(in.Spec.Claim),
		Template:    refDown(in.Spec.Template),
	}
	out.Status = v1beta1.Metal3DataStatus(in.Status)
}

func dataClaimUp(in *v1beta1.Metal3DataClaim, out *infrav1.Metal3DataClaim) {
	out.Spec.Template = refUp(in.Spec.Template)
	out.Status = infrav1.Metal3DataClaimStatus{
		Conditions:   in.Status.Conditions,
		RenderedData: refUp(in.Status.RenderedData),
		ErrorMessage: in.Status.ErrorMessage,
	}
}

func dataClaimDown(in *infrav1.Metal3DataClaim, out *v1beta1.Metal3DataClaim) {
	out.Spec.Template = refDown(in.Spec.Template)
	out.Status = v1beta1.Metal3DataClaimStatus{
		Conditions:   in.Status.Conditions,
		RenderedData: refDown(in.Status.RenderedData),
		ErrorMessage: in.Status.ErrorMessage,
	}
}

func dataTemplateUp(in *v1beta1.Metal3DataTemplate, out *infrav1.Metal3DataTemplate) {
	out.Spec = infrav1.Metal3DataTemplateSpec{
		ClusterName: in.Spec.ClusterName,
		MetaData:    (*infrav1.MetaData)(in.Spec.MetaData), // ...FromPool have other names
		NetworkData: networkDataUp(in.Spec.NetworkData),
	}
	out.Status = infrav1.Metal3DataTemplateStatus{
		Conditions: in.Status.Conditions, Indexes: indexesUp(in.Status.Indexes), LastUpdated: in.Status.LastUpdated,
	}
}

func dataTemplateDown(in *infrav1.Metal3DataTemplate, out *v1beta1.Metal3DataTemplate) {
	out.Spec = v1beta1.Metal3DataTemplateSpec{
		ClusterName: in.Spec.ClusterName,
		MetaData:    (*v1beta1.MetaData)(in.Spec.MetaData),
		NetworkData: networkDataDown(in.Spec.NetworkData),
	}
	out.Status = v1beta1.Metal3DataTemplateStatus{
		Conditions: in.Status.Conditions, Indexes: indexesDown(in.Status.Indexes), LastUpdated: in.Status.LastUpdated,
	}
}

func indexesUp(in map[string]int32) []infrav1.DataIndex {
	var out []infrav1.DataIndex
	for name, index := range in {
		out = append(out, infrav1.DataIndex{Index: ptr.To(index), Name: name})
	}
	slices.SortFunc(out, func(a, b infrav1.DataIndex) int { return cmp.Compare(*a.Index, *b.Index) })
	return out
}

func indexesDown(in []infrav1.DataIndex) map[string]int32 {
	out := map[string]int32{}
	for _, index := range in {
		out[index.Name] = ptr.Deref(index.Index, 0)
	}
	return out
}
