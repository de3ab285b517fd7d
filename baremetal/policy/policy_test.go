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

package policy

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// newPolicy returns a policy of namespace infra. Annotations are given as pairs.
func newPolicy(c *bmov1alpha1.HostClaimNamespaces, annotations ...string) bmov1alpha1.HostDeployPolicy {
	p := bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "p", Annotations: map[string]string{}},
		Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: c},
	}
	for i := 0; i < len(annotations); i += 2 {
		p.Annotations[annotations[i]] = annotations[i+1]
	}
	return p
}

func names(names ...string) *bmov1alpha1.HostClaimNamespaces {
	return &bmov1alpha1.HostClaimNamespaces{Names: append([]string{}, names...)}
}

func matching(expression string) *bmov1alpha1.HostClaimNamespaces {
	return &bmov1alpha1.HostClaimNamespaces{NameMatches: expression}
}

func labeled(pairs ...bmov1alpha1.NameValuePair) *bmov1alpha1.HostClaimNamespaces {
	return &bmov1alpha1.HostClaimNamespaces{HasLabels: pairs}
}

func TestAdmits(t *testing.T) {
	tenant := Namespace{Name: "tenant-a", Labels: map[string]string{"tier": "gold", "empty": ""}}
	tests := map[string]struct {
		given *bmov1alpha1.HostClaimNamespaces
		want  bool
	}{
		"no namespace when hostClaimNamespaces is absent": {nil, false},
		"everybody when hostClaimNamespaces is empty":     {&bmov1alpha1.HostClaimNamespaces{}, true},
		"no namespace when the list of names is empty":    {names(), false},
		"a namespace that is listed":                      {names("x", "tenant-a"), true},
		"not a namespace that is not listed":              {names("tenant-b"), false},
		"a name that matches as a whole":                  {matching("tenant-[a-c]"), true},
		"not a name that matches in part":                 {matching("tenant"), false},
		"a name that matches with anchors of its own":     {matching("^tenant-a$"), true},
		"a name by the longer of two alternatives":        {matching("tenant|tenant-a"), true},
		"not a name by half of an unbalanced alternative": {matching("x|tenant"), false},
		"no namespace when the expression is invalid":     {matching("a)|(b"), false},
		"a namespace with the label and the value":        {labeled(bmov1alpha1.NameValuePair{Name: "tier", Value: "gold"}), true},
		"not a namespace with another value":              {labeled(bmov1alpha1.NameValuePair{Name: "tier", Value: "iron"}), false},
		"a namespace with the label when no value is set": {labeled(bmov1alpha1.NameValuePair{Name: "empty"}), true},
		"not a namespace without the label":               {labeled(bmov1alpha1.NameValuePair{Name: "none"}), false},
		"only a namespace that meets all parts": {&bmov1alpha1.HostClaimNamespaces{
			Names: []string{"tenant-a"}, NameMatches: "other",
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPolicy(tt.given)
			expect.Equal(t, tt.want, Compile(&p).Admits(tenant))
		})
	}
}

func TestAdmitsAll(t *testing.T) {
	tests := map[string]struct {
		given *bmov1alpha1.HostClaimNamespaces
		want  bool
	}{
		"not when absent":       {nil, false},
		"when empty":            {&bmov1alpha1.HostClaimNamespaces{}, true},
		"not with empty names":  {names(), false},
		"not with labels":       {labeled(bmov1alpha1.NameValuePair{Name: "a"}), false},
		"not with nameMatches":  {matching("a"), false},
		"not with listed names": {names("a"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPolicy(tt.given)
			expect.Equal(t, tt.want, AdmitsAll(&p))
		})
	}
}

func TestEmptyNames(t *testing.T) {
	tests := map[string]struct {
		given *bmov1alpha1.HostClaimNamespaces
		want  bool
	}{
		"not when nothing is given":    {nil, false},
		"not when names are left out":  {&bmov1alpha1.HostClaimNamespaces{NameMatches: "a"}, false},
		"not when there is a name":     {names("a"), false},
		"when the list has no entries": {names(), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			given := newPolicy(tt.given)
			expect.Equal(t, tt.want, EmptyNames(&given))
		})
	}
}

func TestMatchesPartOnly(t *testing.T) {
	tests := map[string]struct {
		given     *bmov1alpha1.HostClaimNamespaces
		namespace string
		want      bool
	}{
		"warns of a part":                   {matching("tenant"), "tenant-a", true},
		"is silent about a whole":           {matching("tenant-a"), "tenant-a", false},
		"is silent about no match":          {matching("x"), "tenant-a", false},
		"is silent without an expression":   {names("tenant-a"), "tenant-a", false},
		"is silent about an invalid policy": {matching("("), "tenant-a", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPolicy(tt.given)
			expect.Equal(t, tt.want, Compile(&p).MatchesPartOnly(tt.namespace))
		})
	}
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		given bmov1alpha1.HostDeployPolicy
		want  []string // parts of the error; none when valid
	}{
		"accepts a policy without expressions": {newPolicy(names("a")), nil},
		"accepts expressions and flags": {newPolicy(matching("a.*"),
			infrav1.PublishLabelsAnnotation, "rack|row", infrav1.PublishAnnotationsAnnotation, "",
			infrav1.AllowedImageURLsAnnotation, "https://.*", infrav1.AllowCustomDeployAnnotation, "false",
			infrav1.SharePreprovisioningNetworkDataAnnotation, "true", infrav1.AllowSkipCleaningAnnotation, "true"), nil},
		"names policy, field and remedy": {
			newPolicy(matching("tenant-[")),
			[]string{"HostDeployPolicy infra/p", "spec.hostClaimNamespaces.nameMatches", "tenant-[", "RE2"},
		},
		"refuses text that breaks out of a group": {newPolicy(matching("a)|(b")), []string{"nameMatches"}},
		"names an annotation":                     {newPolicy(names("a"), infrav1.PublishLabelsAnnotation, "("), []string{"annotation " + infrav1.PublishLabelsAnnotation}},
		"refuses a flag that is neither true nor false": {
			newPolicy(names("a"), infrav1.AllowCustomDeployAnnotation, "yes"),
			[]string{infrav1.AllowCustomDeployAnnotation, "neither true nor false"},
		},
		"reports every fault": {
			newPolicy(matching("("), infrav1.AllowedImageURLsAnnotation, "[",
				infrav1.SharePreprovisioningNetworkDataAnnotation, "1", infrav1.AllowSkipCleaningAnnotation, "1"),
			[]string{
				"nameMatches", infrav1.AllowedImageURLsAnnotation, infrav1.SharePreprovisioningNetworkDataAnnotation,
				infrav1.AllowSkipCleaningAnnotation,
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := Compile(&tt.given).Err()
			expect.Must(t, (err == nil) == (tt.want == nil), "Err() = %v, want an error with %q", err, tt.want)
			for _, part := range tt.want {
				expect.That(t, strings.Contains(err.Error(), part), "Err() = %q, want it to say %q", err, part)
			}
		})
	}
}

func compileAll(policies []bmov1alpha1.HostDeployPolicy) []*Compiled {
	var compiled []*Compiled
	for i := range policies {
		compiled = append(compiled, Compile(&policies[i]))
	}
	return compiled
}

func TestEvaluate(t *testing.T) {
	in := func(namespace string, p bmov1alpha1.HostDeployPolicy) bmov1alpha1.HostDeployPolicy {
		p.Namespace = namespace
		return p
	}
	tests := map[string]struct {
		policies []bmov1alpha1.HostDeployPolicy
		own      Own
		want     []string
		invalid  int
	}{
		"admits to the own namespace without a policy": {nil, OwnWithoutPolicy, []string{"tenant"}, 0},
		"asks for a policy there too if told so":       {nil, OwnByPolicy, []string{}, 0},
		"admits to the own namespace by a policy":      {[]bmov1alpha1.HostDeployPolicy{in("tenant", newPolicy(names("tenant")))}, OwnByPolicy, []string{"tenant"}, 0},
		"admits to each namespace with a policy that does": {[]bmov1alpha1.HostDeployPolicy{
			in("z", newPolicy(names("tenant"))), in("b", newPolicy(names("other"))), in("a", newPolicy(matching("ten.*"))),
		}, OwnWithoutPolicy, []string{"a", "tenant", "z"}, 0},
		"skips an invalid policy and hears the others": {[]bmov1alpha1.HostDeployPolicy{
			in("a", newPolicy(matching("("))), in("a", newPolicy(names("tenant"))), in("b", newPolicy(names("tenant"), infrav1.PublishLabelsAnnotation, "(")),
		}, OwnByPolicy, []string{"a"}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Evaluate(compileAll(tt.policies), Namespace{Name: "tenant"}, tt.own)
			expect.Equal(t, tt.want, append([]string{}, d.Namespaces()...))
			expect.That(t, len(d.Invalid) == tt.invalid, "invalid policies: %v, want %d", d.Invalid, tt.invalid)
		})
	}
}

// grantOf evaluates policies of namespace infra that admit all namespaces.
func grantOf(annotations ...[]string) Grant {
	var policies []bmov1alpha1.HostDeployPolicy
	for _, pairs := range annotations {
		policies = append(policies, newPolicy(&bmov1alpha1.HostClaimNamespaces{}, pairs...))
	}
	return Evaluate(compileAll(policies), Namespace{Name: "tenant"}, OwnWithoutPolicy).Grants["infra"]
}

func ownGrant() Grant {
	return Evaluate(nil, Namespace{Name: "tenant"}, OwnWithoutPolicy).Grants["tenant"]
}

func TestGrantPublishes(t *testing.T) {
	host := map[string]string{
		"rack": "a1", "rack-row": "7", "example.com/size": "big",
		"kubectl.kubernetes.io/last-applied-configuration": "{}", "baremetalhost.metal3.io/paused": "",
		"inspect.metal3.io": "", "inspect.metal3.io/hardwaredetails": "", "reboot.metal3.io": "", "reboot.metal3.io/x": "",
		"clusterctl.cluster.x-k8s.io/move": "", "hostclaim.metal3.io/claim-uid": "u",
	}
	tests := map[string]struct {
		grant Grant
		want  map[string]string
	}{
		"nothing without an expression":                 {grantOf(nil), map[string]string{}},
		"nothing without a grant":                       {Grant{}, map[string]string{}},
		"keys that match as a whole":                    {grantOf([]string{infrav1.PublishLabelsAnnotation, "rack", infrav1.PublishAnnotationsAnnotation, "rack"}), map[string]string{"rack": "a1"}},
		"the union of several policies":                 {grantOf([]string{infrav1.PublishLabelsAnnotation, "rack", infrav1.PublishAnnotationsAnnotation, "rack"}, []string{infrav1.PublishLabelsAnnotation, "example.*", infrav1.PublishAnnotationsAnnotation, "example.*"}), map[string]string{"rack": "a1", "example.com/size": "big"}},
		"all but private keys for .*":                   {grantOf([]string{infrav1.PublishLabelsAnnotation, ".*", infrav1.PublishAnnotationsAnnotation, ".*"}), map[string]string{"rack": "a1", "rack-row": "7", "example.com/size": "big"}},
		"all but private keys within the own namespace": {ownGrant(), map[string]string{"rack": "a1", "rack-row": "7", "example.com/size": "big"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, tt.grant.Published(host, infrav1.PublishLabelsAnnotation))
			expect.Equal(t, tt.want, tt.grant.Published(host, infrav1.PublishAnnotationsAnnotation))
		})
	}
}

func TestGrantPermits(t *testing.T) {
	image := func(url, checksum string) *bmov1alpha1.Image { return &bmov1alpha1.Image{URL: url, Checksum: checksum} }
	narrow := []string{infrav1.AllowedImageURLsAnnotation, `https://good\.example\.com/.*`}
	custom := &bmov1alpha1.CustomDeploy{Method: "install"}
	tests := map[string]struct {
		grant  Grant
		image  *bmov1alpha1.Image
		custom *bmov1alpha1.CustomDeploy
		want   string // part of the refusal; empty when permitted
	}{
		"nothing asked for":                                 {grantOf(nil), nil, nil, ""},
		"an https image by any policy":                      {grantOf(nil), image("https://x/i", "abc123"), nil, ""},
		"an image whose scheme is in capitals":              {grantOf(nil), image("OCI://x/i", ""), nil, ""},
		"not a file":                                        {grantOf(nil), image("file:///etc/passwd", ""), nil, "spec.image.url"},
		"not a URL without a scheme":                        {grantOf(nil), image("images/os.raw", ""), nil, "spec.image.url"},
		"not a URL without a host":                          {grantOf(nil), image("https:///os.raw", ""), nil, "with a host"},
		"not a URL with a line break":                       {grantOf(nil), image("https://x/\r\nHost: y", ""), nil, "no valid URL"},
		"a URL with a port, a query and a tag":              {grantOf(nil), image("oci://x:5000/os:1?a=b", ""), nil, ""},
		"a checksum that is a URL":                          {grantOf(nil), image("https://x/i", "http://x/sums"), nil, ""},
		"not a checksum that is a file":                     {grantOf(nil), image("https://x/i", "file:///etc/shadow"), nil, "spec.image.checksum"},
		"not a checksum that is a path":                     {grantOf(nil), image("https://x/i", "/etc/shadow"), nil, "spec.image.checksum"},
		"a URL that the policy allows":                      {grantOf(narrow), image("https://good.example.com/i", ""), nil, ""},
		"not a URL that the policy does not allow":          {grantOf(narrow), image("https://bad.example.com/https://good.example.com/i", ""), nil, "permits the URL"},
		"not a checksum URL that the policy does not allow": {grantOf(narrow), image("https://good.example.com/i", "https://bad/s"), nil, "spec.image.checksum"},
		"any URL if one of the policies does not narrow":    {grantOf(narrow, nil), image("https://bad/i", ""), nil, ""},
		"not customDeploy by default":                       {grantOf(nil), nil, custom, "spec.customDeploy"},
		"customDeploy if one policy says so":                {grantOf(nil, []string{infrav1.AllowCustomDeployAnnotation, "true"}), nil, custom, ""},
		"not customDeploy if the policy says false":         {grantOf([]string{infrav1.AllowCustomDeployAnnotation, "false"}), nil, custom, "spec.customDeploy"},
		"not the metadata service of a cloud":               {grantOf(nil), image("http://169.254.169.254/latest/meta-data", ""), nil, "spec.image.url is refused: its host"},
		"not the host that fetches it":                      {grantOf(nil), image("https://user@localhost:6385/v1/nodes", ""), nil, "its host"},
		"not that host by its number":                       {grantOf(nil), image("oci://[::ffff:127.0.0.1]:5000/os", ""), nil, "its host"},
		"not the provisioning network":                      {grantOf(nil), image("http://172.22.0.2/os.raw", ""), nil, "its host"},
		"not that network if the policy allows it":          {grantOf([]string{infrav1.AllowedImageURLsAnnotation, ".*"}), image("http://172.22.0.2/os.raw", ""), nil, "its host"},
		"not a checksum from that network":                  {grantOf(nil), image("https://x/i", "http://172.22.0.2/sums"), nil, "spec.image.checksum is refused: its host"},
		"everything within the own namespace":               {ownGrant(), image("file:///x", ""), custom, ""},
		"that network within the own namespace":             {ownGrant(), image("http://172.22.0.2/os.raw", ""), nil, ""},
	}
	denied := append(addresses.Local(), netip.MustParsePrefix("172.22.0.0/24"))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.grant.Permit(tt.image, tt.custom, denied)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("Permit() = %v, want nil", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Permit() = %v, want a refusal that says %q", err, tt.want)
			}
		})
	}
}

func TestGrantOfOneFlag(t *testing.T) {
	for _, key := range flagOptions {
		tests := map[string]struct {
			grant Grant
			want  bool
		}{
			"not by default":                 {grantOf(nil), false},
			"if one policy says so":          {grantOf(nil, []string{key, "true"}), true},
			"not if the policy says false":   {grantOf([]string{key, "false"}), false},
			"always in the own namespace":    {ownGrant(), true},
			"never without any grant at all": {Grant{}, false},
		}
		for name, tt := range tests {
			t.Run(key+" "+name, func(t *testing.T) { expect.Equal(t, tt.want, tt.grant.Permits(key)) })
		}
	}
}

func TestCounted(t *testing.T) {
	var all []bmov1alpha1.HostDeployPolicy
	add := func(namespace string, number, age int) {
		for n := range number {
			all = append(all, bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("policy-%d-%03d", age, n),
				CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0)),
			}})
		}
	}
	add("crowded", MaxPerNamespace, 1)
	add("modest", 3, 2)
	counted := Counted(all)
	expect.That(t, len(counted) == len(all), "%d of %d count, although no namespace has too many", len(counted), len(all))
	add("crowded", 5, 5)
	number := map[string]int{}
	for _, p := range Counted(all) {
		number[p.Namespace]++
		expect.That(t, p.Namespace != "crowded" || p.Name <= "policy-1-094" || p.Name >= "policy-5", "%s counts, although %d are older", p.Name, MaxPerNamespace)
	}
	expect.That(t, number["crowded"] == MaxPerNamespace && number["modest"] == 3, "these count: %v", number)
	expect.That(t, all[0].Name == "policy-1-000", "the order of what was given has changed")
}
