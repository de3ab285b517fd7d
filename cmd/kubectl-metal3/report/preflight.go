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

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// Verdict is what becomes of a machine when its cluster is taken over.
type Verdict string

const (
	// TakenOver is a machine whose claim gets the host that CAPM3 has bound to it.
	TakenOver Verdict = "taken over"
	// Claimed is a machine whose claim has its host already.
	Claimed Verdict = "has a claim"
	// NewHost is a machine without a host, whose claim gets a free one.
	NewHost Verdict = "gets a free host"
	// Refused is a machine that is not taken over as it is.
	Refused Verdict = "refused"
)

// TakeOver is what becomes of one machine.
type TakeOver struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	// Machine is the name of the Metal3Machine.
	Machine string  `json:"machine"`
	Host    string  `json:"host,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Reason is why it is refused, and what to do.
	Reason string `json:"reason,omitempty"`
}

// Difference is a field that means something else here than with CAPM3.
type Difference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Field     string `json:"field"`
	// Here is what it means, and how to have what CAPM3 did.
	Here string `json:"here"`
}

// Namespace has the objects of a namespace with clusters of CAPM3.
type Namespace struct {
	Clusters       []clusterv1.Cluster
	Infrastructure []infrav1.Metal3Cluster
	Machines       []infrav1.Metal3Machine
	Templates      []infrav1.Metal3MachineTemplate
	DataTemplates  []infrav1.Metal3DataTemplate
	Remediations   []infrav1.Metal3Remediation
	Hosts          []bmov1alpha1.BareMetalHost
	Claims         []bmov1alpha1.HostClaim
}

// TakeOvers returns what becomes of each machine of the clusters.
func (n Namespace) TakeOvers() []TakeOver {
	rows := []TakeOver{}
	for _, cluster := range n.Clusters {
		for i := range n.Machines {
			if m := &n.Machines[i]; m.Labels[clusterv1.ClusterNameLabel] == cluster.Name {
				row := TakeOver{Namespace: m.Namespace, Cluster: cluster.Name, Machine: m.Name}
				row.Host, row.Verdict, row.Reason = n.takeOver(m, cluster.Spec.InfrastructureRef.Name)
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func (n Namespace) takeOver(m *infrav1.Metal3Machine, infrastructure string) (host string, verdict Verdict, reason string) {
	owner := claims.OwnerOf(m)
	namespace, host, _ := strings.Cut(m.Annotations[infrav1.HostAnnotation], "/")
	found := slices.IndexFunc(n.Hosts, func(h bmov1alpha1.BareMetalHost) bool { return h.Name == host })
	claimed := slices.IndexFunc(n.Claims, func(c bmov1alpha1.HostClaim) bool { return claims.BelongsTo(&c, owner) })
	unready := n.unready(m, host, infrastructure)
	switch {
	case claimed >= 0:
		if reason := unbound(&n.Claims[claimed]); reason != "" {
			return host, Refused, reason
		}
		return host, Claimed, ""
	case unready != "":
		return host, Refused, unready
	case host == "":
		return host, NewHost, ""
	case namespace != m.Namespace || found < 0:
		return host, Refused, fmt.Sprintf("its namespace has no BareMetalHost as annotation %s says: %.253q", infrav1.HostAnnotation, namespace+"/"+host)
	}
	marked := m.ObjectMeta.DeepCopy()
	metav1.SetMetaDataAnnotation(marked, infrav1.TakeOverAnnotation, "true")
	claim := claims.Desired(claims.Wanted{
		Name: claims.Name(m.Name), Owner: owner, ClusterName: m.Labels[clusterv1.ClusterNameLabel], TakeOver: host, PoweredOn: true,
		Deployment: &claims.Deployment{
			Image: claims.ImageOf(m.Spec.Image, ""), CustomDeploy: (*bmov1alpha1.CustomDeploy)(m.Spec.CustomDeploy),
		},
	})
	if err := cmp.Or(binding.CheckPayload(claim), binding.CheckTakeOver(claim, &n.Hosts[found], *marked)); err != nil {
		return host, Refused, err.Error()
	}
	return host, TakenOver, ""
}

// unbound returns why a claim does not have its host; empty if it has.
func unbound(claim *bmov1alpha1.HostClaim) string {
	associated := binding.ConditionOf(claim.Status.Conditions, bmov1alpha1.AssociatedCondition)
	if associated.Status == metav1.ConditionTrue {
		return ""
	}
	return cmp.Or(oneLine(associated.Message), "the hostclaim manager has not answered yet: check that it runs")
}

// unready returns why a machine cannot be taken over yet, whatever its host is like.
func (n Namespace) unready(m *infrav1.Metal3Machine, host, infrastructure string) string {
	identity := m.Spec.IdentityRef != nil || slices.ContainsFunc(n.Infrastructure, func(i infrav1.Metal3Cluster) bool {
		return i.Name == infrastructure && i.Spec.IdentityRef != nil
	})
	named := slices.ContainsFunc(n.Hosts, func(h bmov1alpha1.BareMetalHost) bool {
		return binding.OfMachine(&h) && h.Spec.ConsumerRef.Name == m.Name
	})
	remediated := slices.ContainsFunc(n.Remediations, func(r infrav1.Metal3Remediation) bool { return Remediates(&r, m) })
	switch {
	case identity:
		return "it has an identityRef: take that off until the machine is taken over"
	case !m.DeletionTimestamp.IsZero():
		return "it is being deleted: wait until it is gone"
	case remediated:
		return "it is being remediated: wait until its Metal3Remediation is gone, or labels of a Node that CAPM3 deleted for it would be lost"
	case host == "" && m.Spec.ProviderID != "":
		return "its server has been provisioned, and it names no host: have the Machine replaced"
	case host == "" && named:
		return "a host names it, and it names none: wait until CAPM3 has written annotation " + infrav1.HostAnnotation
	default:
		return ""
	}
}

// Remediates reports whether a Metal3Remediation is for the Machine of a Metal3Machine.
func Remediates(r *infrav1.Metal3Remediation, m *infrav1.Metal3Machine) bool {
	return slices.ContainsFunc(r.OwnerReferences, func(of metav1.OwnerReference) bool {
		return of.Kind == "Machine" && slices.ContainsFunc(m.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == of.UID })
	})
}

// Differences returns what clusters and templates ask for that means something else here.
func (n Namespace) Differences() []Difference {
	all := []Difference{}
	add := func(kind string, o metav1.Object, found [][2]string) {
		for _, f := range found {
			all = append(all, Difference{kind, o.GetNamespace(), o.GetName(), f[0], f[1]})
		}
	}
	for i := range n.Infrastructure {
		if o := &n.Infrastructure[i]; len(o.Spec.FailureDomains) > 0 {
			add("Metal3Cluster", o, [][2]string{{"spec.failureDomains", aboutDomains}})
		}
	}
	for i := range n.Templates {
		add("Metal3MachineTemplate", &n.Templates[i], ofTemplate(n.Templates[i].Spec.Template.Spec))
	}
	for i := range n.DataTemplates {
		add("Metal3DataTemplate", &n.DataTemplates[i], ofDataTemplate(n.DataTemplates[i].Spec))
	}
	return all
}

const (
	aboutDomains = "a machine waits for a host of its failure domain, where CAPM3 takes any other; for that, put annotation " +
		infrav1.SoftFailureDomainAnnotation + `: "true" on the machines, by spec.template.metadata of their template`
	aboutSecrets = "the Secret must have label " + infrav1.UserDataLabel + `: "true"`
)

// ofTemplate returns fields of a template with what they mean.
func ofTemplate(spec infrav1.Metal3MachineSpec) [][2]string {
	found := [][2]string{{"spec.template.spec", "a change is refused, but for automatedCleaningMode: make a new template, and name that instead"}}
	if spec.FailureDomain != "" {
		found = append(found, [2]string{"spec.template.spec.failureDomain", aboutDomains})
	}
	if spec.AutomatedCleaningMode == infrav1.CleaningModeDisabled {
		found = append(found, [2]string{
			"spec.template.spec.automatedCleaningMode", "a host that is given back is cleaned; disabled counts only while nodeReuse keeps it for the next machine",
		})
	}
	if r := spec.MetaData; r != nil && r.Name != "" {
		found = append(found, [2]string{"spec.template.spec.metaData", aboutSecrets})
	}
	if r := spec.NetworkData; r != nil && r.Name != "" {
		found = append(found, [2]string{"spec.template.spec.networkData", aboutSecrets})
	}
	if err := selection.CheckNew(claims.Desired(claims.Wanted{Selector: spec.HostSelector})); err != nil {
		found = append(found, [2]string{"spec.template.spec.hostSelector", "new machines are refused: " + oneLine(err.Error())})
	}
	return found
}

// ofDataTemplate does so for a data template.
func ofDataTemplate(spec infrav1.Metal3DataTemplateSpec) [][2]string {
	if spec.MetaData == nil {
		return nil
	}
	var found [][2]string
	if len(spec.MetaData.DNSServersFromPool) > 0 {
		found = append(found, [2]string{"spec.metaData.dnsServersFromPool", "new machines get the servers, with commas; CAPM3 renders nothing"})
	}
	pools := slices.Concat(spec.MetaData.IPAddressesFromPool, spec.MetaData.PrefixesFromPool, spec.MetaData.GatewaysFromPool)
	if slices.ContainsFunc(pools, func(p infrav1.FromPool) bool { return p.Kind != "" && p.Kind != "IPPool" }) {
		found = append(found, [2]string{"spec.metaData", "the pools are of the kind that is written; CAPM3 takes all for IPPools"})
	}
	return found
}
