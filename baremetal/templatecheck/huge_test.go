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

package templatecheck

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// many is how many items the schema allows in most lists of a template.
const many = 512

// long is an id of 200 characters.
func long(kind string, i int) string { return fmt.Sprintf("%s%0*d", kind, 200-len(kind), i) }

func linked(links infrav1.NetworkDataLink) infrav1.Metal3DataTemplateSpec {
	return infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{Links: &links}}
}

// hugeTemplates stay within what the schema allows, and are wrong all over.
func hugeTemplates() map[string]infrav1.Metal3DataTemplateSpec {
	var missing, same, bare, circle infrav1.NetworkDataLink
	metadata := &infrav1.MetaData{}
	for i := range many {
		missing.Bonds = append(missing.Bonds, infrav1.NetworkDataLinkBond{
			ID: long("b", i), BondLinks: []string{long("x", i), long("y", i)},
		})
		same.Vlans = append(same.Vlans, infrav1.NetworkDataLinkVlan{ID: long("v", 0), Name: "lan", VlanLink: long("v", 0)})
		bare.Bonds = append(bare.Bonds, infrav1.NetworkDataLinkBond{ID: long("b", i)})
		circle.Vlans = append(circle.Vlans, infrav1.NetworkDataLinkVlan{ID: long("v", i), VlanLink: long("v", i^1)})
		pool := func(kind string) infrav1.FromPool { return infrav1.FromPool{Name: "p", Kind: fmt.Sprint(kind, i)} }
		metadata.IPAddressesFromPool = append(metadata.IPAddressesFromPool, pool("A"))
		metadata.GatewaysFromPool = append(metadata.GatewaysFromPool, pool("B"))
	}
	return map[string]infrav1.Metal3DataTemplateSpec{
		"links that do not exist":          linked(missing),
		"one id and one name for all":      linked(same),
		"bonds without links":              linked(bare),
		"a lot of circles":                 linked(circle),
		"one name for a lot of pools":      {MetaData: metadata},
		"links and pools at the same time": {MetaData: metadata, NetworkData: linked(missing).NetworkData},
	}
}

// One request must not keep the manager busy, nor fill its memory: the errors of a template are
// cut, however many there are.
func TestAnswersToHugeTemplatesAreBrief(t *testing.T) {
	for name, spec := range hugeTemplates() {
		t.Run(name, func(t *testing.T) {
			problems := Problems(spec, field.NewPath("spec"))
			expect.Must(t, len(problems) == 20, "%d problems, want 20", len(problems))
			last := problems[19].Detail
			expect.That(t, strings.HasSuffix(last, "; further problems were not looked for"), "the last one says %q, not that there may be more", last)
			text := apierrors.NewInvalid(schema.GroupKind{Kind: "Metal3DataTemplate"}, "t", problems).Error()
			expect.That(t, len(text) <= 40_000, "the answer has %d bytes", len(text))
		})
	}
}

// The list of known links is cut, and ends with the number of those it leaves out.
func TestFewLinksAreOffered(t *testing.T) {
	links := infrav1.NetworkDataLink{Vlans: []infrav1.NetworkDataLinkVlan{{ID: "v", VlanLink: "none"}}}
	for i := range 30 {
		links.Ethernets = append(links.Ethernets, infrav1.NetworkDataLinkEthernet{ID: fmt.Sprint("e", i)})
	}
	problems := Problems(linked(links), field.NewPath("spec"))
	if len(problems) != 1 || !strings.HasSuffix(problems[0].Detail, ": e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, … and 15 more") {
		t.Errorf("problems are %v, want one that offers 16 of 31 links", problems)
	}
}

// With twice as many links or pools, the work is about twice as much. A search of its
// own for each of them would make it four times.
func TestWorkGrowsWithTheTemplate(t *testing.T) {
	tests := map[string]func(n int) infrav1.Metal3DataTemplateSpec{
		"a chain of links": func(n int) infrav1.Metal3DataTemplateSpec {
			links := infrav1.NetworkDataLink{Ethernets: []infrav1.NetworkDataLinkEthernet{{ID: long("v", n)}}}
			for i := range n {
				links.Vlans = append(links.Vlans, infrav1.NetworkDataLinkVlan{ID: long("v", i), VlanLink: long("v", i+1)})
			}
			return linked(links)
		},
		"one name for a lot of pools": func(n int) infrav1.Metal3DataTemplateSpec {
			var pools []infrav1.FromPool
			for i := range n {
				pools = append(pools, infrav1.FromPool{Name: "p", Kind: fmt.Sprint("K", i)})
			}
			return infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{IPAddressesFromPool: pools}}
		},
	}
	for name, spec := range tests {
		t.Run(name, func(t *testing.T) {
			half, all := allocated(spec(many/2)), allocated(spec(many))
			expect.That(t, all <= 3*half, "%d bytes for %d, %d for %d", half, many/2, all, many)
		})
	}
}

// allocated is how many bytes it takes to check a template.
func allocated(spec infrav1.Metal3DataTemplateSpec) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Problems(spec, field.NewPath("spec"))
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestWarningsOfHugeTemplatesAreBrief(t *testing.T) {
	bond := infrav1.NetworkDataLinkBond{ID: "b"}
	metadata := &infrav1.MetaData{}
	for i := range many {
		bond.Parameters = append(bond.Parameters, infrav1.BondParameter{Name: "p", Value: &apiextensionsv1.JSON{Raw: []byte("[]")}})
		metadata.Namespaces = append(metadata.Namespaces, infrav1.MetaDataNamespace{Key: long("k", i)})
		metadata.Strings = append(metadata.Strings, infrav1.MetaDataString{Key: long("k", i)})
	}
	parameters := linked(infrav1.NetworkDataLink{Bonds: []infrav1.NetworkDataLinkBond{bond}})
	for name, spec := range map[string]infrav1.Metal3DataTemplateSpec{"parameters": parameters, "keys": {MetaData: metadata}} {
		got := Warnings(spec, field.NewPath("spec"))
		expect.That(t, len(got) == 21 && got[20] == "further warnings are left out", "%d warnings of %s, want 20 and one that says so", len(got), name)
	}
}
