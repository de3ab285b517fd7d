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

package machine

import (
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const id = "metal3://tenant-a/host-1/m-1"

var owner = claims.Owner{Namespace: "tenant-a", Name: "m-1", UID: "uid-1"}

// change is one more fact about a machine.
type change func(*Observed)

// observe returns a machine that waits for nothing but a claim, changed.
func observe(changes ...change) Observed {
	o := Observed{
		Machine: &infrav1.Metal3Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name, UID: owner.UID},
			Spec: infrav1.Metal3MachineSpec{
				Image:        &infrav1.Image{URL: "http://x/i", Checksum: ptr.To("abc")},
				DataTemplate: &infrav1.Metal3ObjectRef{Name: "template"},
			},
		},
		Owner:     &clusterv1.Machine{},
		Cluster:   &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		Infra:     &infrav1.Metal3Cluster{},
		Bootstrap: BootstrapFacts{Secret: "boot"},
	}
	infrastructure(true)(&o)
	for _, c := range changes {
		c(&o)
	}
	return o
}

// infrastructure is that of the Cluster, provisioned or not.
func infrastructure(ready bool) change {
	return func(o *Observed) { o.Cluster.Status.Initialization.InfrastructureProvisioned = &ready }
}

// annotated gives the Metal3Machine an annotation.
func annotated(key, value string) change {
	return func(o *Observed) { metav1.SetMetaDataAnnotation(&o.Machine.ObjectMeta, key, value) }
}

// prefers has Cluster API place the machine in a failure domain, if there is a host in it.
func prefers(domain string) change {
	return func(o *Observed) {
		o.Owner.Spec.FailureDomain = domain
		annotated(infrav1.SoftFailureDomainAnnotation, "true")(o)
	}
}

func unbound(o *Observed) {
	o.Claim = claims.State{Phase: claims.Unbound, Name: "m-1", Message: "8 hosts seen: 8 in use"}
}

func bound(o *Observed) {
	o.Claim = claims.State{Phase: claims.Bound, Name: "m-1", HostNamespace: "infra", HostName: "host-1"}
}

func facts(o *Observed) { o.Facts, o.Host.UID, o.Host.Namespace = true, "host-uid", owner.Namespace }

func rendered(o *Observed) {
	o.Data = DataFacts{ClaimExists: true, ClaimHeld: true, Name: "template-0", Ready: true, MetaData: "m-1-metadata", NetworkData: "m-1-networkdata"}
}

func deployed(o *Observed) {
	o.Claim.Deployment, o.Claim.PoweredOn = deployment(), true
}

func runsImage(o *Observed) { o.Claim.Phase, o.Claim.Synchronized = claims.Provisioned, true }

func established(o *Observed) {
	o.Machine.Status.Initialization.Provisioned, o.Machine.Spec.ProviderID = ptr.To(true), id
}

func deployment() *claims.Deployment {
	return &claims.Deployment{
		Image:    &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc"},
		UserData: "boot", MetaData: "m-1-metadata", NetworkData: "m-1-networkdata",
	}
}

// claim is the claim without deployment.
func claim(d *claims.Deployment) *claims.Wanted {
	return &claims.Wanted{Name: "m-1", Owner: owner, ClusterName: "a", Deployment: d, PoweredOn: d != nil}
}

var (
	secrets    = Secrets{UserData: "boot", MetaData: "m-1-metadata", NetworkData: "m-1-networkdata"}
	isBound    = holding("AssociateBareMetalHost", "AssociateBareMetalHostSuccess")
	hasClaim   = holding("AssociateMetal3MachineMetaData", "AssociateMetal3MachineMetaDataSuccess")
	hasData    = holding("Metal3DataReady", "Metal3DataSecretsReady")
	serverRuns = holding("HostClaimReady", "Provisioned")
	nodeFound  = holding("KubernetesNodeReady", "NodeFound")
	noUserData = BootstrapFacts{Reason: "WaitingForBootstrapData", Message: "Waiting for the bootstrap provider to name the bootstrap data of the Machine"}
	noNode     = waiting("KubernetesNodeReady", "WorkloadClusterUnreachable", "Waiting for a connection to the workload cluster")
)

// holding is a condition that holds.
func holding(condition, reason string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason}
}

// waits are the conditions that show what the machine waits for.
func (p Plan) waits() []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(p.Conditions), func(c metav1.Condition) bool { return c.Status == metav1.ConditionTrue })
}

// asks is the plan of a machine with user data, whose claim asks for no deployment yet.
func asks(c *claims.Wanted, conditions ...metav1.Condition) Plan {
	return Plan{Claim: c, Secrets: Secrets{UserData: "boot"}, Conditions: conditions}
}

// deploys is the plan of a machine whose claim has its deployment; the condition tells how far the server is.
func deploys(server metav1.Condition) Plan {
	return Plan{Claim: claim(deployment()), Secrets: secrets, Conditions: []metav1.Condition{isBound, hasClaim, hasData, server}}
}

// TestNext shows what the transcripts of TestLife do not.
func TestNext(t *testing.T) {
	noHost := func(reason, message string) metav1.Condition {
		return waiting("AssociateBareMetalHost", reason, message)
	}
	inRow := func(row string, soft bool) Plan {
		c := claim(nil)
		c.FailureDomain, c.SoftFailureDomain = row, soft
		return asks(c, noHost("HostClaimNotBound", "Waiting for the hostclaim manager to bind a host"))
	}
	ofClass := claim(nil)
	ofClass.Class = &infrav1.HostClass{Name: "virtual"}
	external := asks(claim(&claims.Deployment{CustomDeploy: &bmov1alpha1.CustomDeploy{Method: "own"}, UserData: "boot", MetaData: "meta"}), isBound,
		hasClaim, holding("Metal3DataReady", "SecretsSetExternally"), waiting("HostClaimReady", "Provisioning", "Waiting for the host to be provisioned"))
	external.Secrets.MetaData = "meta"
	for name, tc := range map[string]struct {
		given Observed
		want  Plan
	}{
		"waits for the Metal3Cluster, which could name another place for hosts": {
			observe(func(o *Observed) { o.InfraMissing = true }),
			Plan{Conditions: []metav1.Condition{noHost("WaitingforMetal3Cluster", `Waiting for the Metal3Cluster of Cluster "a" to exist`)}},
		},
		"claims a host that is better, but need not be, in the failure domain": {observe(prefers("row-1")), inRow("row-1", true)},
		"claims a host in the failure domain of the Machine": {
			observe(func(o *Observed) { o.Owner.Spec.FailureDomain, o.Machine.Spec.FailureDomain = "row-1", "row-2" }), inRow("row-1", false),
		},
		"falls back to the failure domain of the Metal3Machine": {
			observe(func(o *Observed) { o.Machine.Spec.FailureDomain = "row-2" }), inRow("row-2", false),
		},
		"claims a host of the class that the machine names": {
			observe(func(o *Observed) { o.Machine.Spec.HostClass = &infrav1.HostClass{Name: "virtual"} }),
			asks(ofClass, noHost("HostClaimNotBound", "Waiting for the hostclaim manager to bind a host")),
		},
		"adds what can be done when no host fits": {
			observe(unbound, func(o *Observed) { o.Claim.Reason = "NoBareMetalHost" }),
			asks(claim(nil), noHost("HostClaimNotBound", "8 hosts seen: 8 in use. The first host that fits will be bound: "+
				"have one freed or added, or ask for others with hostSelector and failureDomain in a new template")),
		},
		"does not ask for the Cluster's readiness once there is a claim": {
			observe(unbound, infrastructure(false)), asks(claim(nil), noHost("HostClaimNotBound", "8 hosts seen: 8 in use")),
		},
		"never takes over a claim of something else": {
			observe(func(o *Observed) { o.InTheWay = &bmov1alpha1.HostClaim{} }),
			asks(nil, noHost("HostClaimNameTaken", `HostClaim "m-1" belongs to something else: delete it, or give the Machine another name`)),
		},
		"waits for a claim that is being deleted to go": {
			observe(unbound, func(o *Observed) { o.Claim.Deleting = true }),
			asks(nil, noHost("HostClaimNotBound", `HostClaim "m-1" is being deleted; a new one will follow`)),
		},
		"says why the facts of the host are missing": {
			observe(bound, func(o *Observed) { o.Claim.FactsReason, o.Claim.FactsMessage = "HardwareDataNameTaken", "in the way" }),
			asks(claim(nil), noHost("HardwareDataNameTaken", "in the way")),
		},
		"never takes over data of something else": {
			observe(bound, facts, func(o *Observed) { o.Data.NameTaken = true }),
			asks(claim(nil), isBound, waiting("AssociateMetal3MachineMetaData", "AssociateMetal3MachineMetaDataFailed",
				`Metal3DataClaim "m-1" belongs to something else: delete it, or give the Machine another name`)),
		},
		"refuses a template of another namespace": {
			observe(bound, facts, func(o *Observed) { o.Machine.Spec.DataTemplate.Namespace = "tenant-b" }),
			asks(claim(nil), isBound, waiting("AssociateMetal3MachineMetaData", "InvalidConfiguration",
				`spec.dataTemplate.namespace is "tenant-b": only templates of namespace "tenant-a" can be used`)),
		},
		"refuses a secret of another namespace": {
			observe(bound, facts, func(o *Observed) {
				o.Machine.Spec.NetworkData = &corev1.SecretReference{Namespace: "tenant-b", Name: "net"}
			}),
			asks(claim(nil), isBound, waiting("Metal3DataReady", "InvalidConfiguration",
				`Secret "net" is referenced in namespace "tenant-b": only secrets of namespace "tenant-a" can be used`)),
		},
		"needs no template, and prefers secrets that the machine names": {
			observe(bound, facts, func(o *Observed) {
				spec := &o.Machine.Spec
				spec.DataTemplate, spec.Image, spec.CustomDeploy = nil, nil, &infrav1.CustomDeploy{Method: "own"}
				spec.MetaData = &corev1.SecretReference{Name: "meta"}
			}), external,
		},
		"shows how far the host is, and does not change what it was told": {
			observe(bound, deployed, func(o *Observed) {
				o.Claim.Message, o.Machine.Spec.Image.URL, o.Bootstrap = "Writing the image", "http://x/new", noUserData
			}),
			deploys(waiting("HostClaimReady", "Provisioning", "Writing the image")),
		},
		"shows why the host cannot do what it was told": {
			observe(bound, deployed, func(o *Observed) {
				o.Claim.Phase, o.Claim.Reason, o.Claim.Message = claims.Failed, "ImageRefused", "no policy permits http://x/i"
			}),
			deploys(waiting("HostClaimReady", "ImageRefused", "no policy permits http://x/i")),
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, tc.given, tc.want) })
	}
}

func TestNextProvisioned(t *testing.T) {
	node := func(kind nodes.Kind, n nodes.Node) change {
		return func(o *Observed) { n.Name = "node-1"; o.Node = nodes.Result{Kind: kind, Node: n} }
	}
	joined := node(nodes.ByProviderID, nodes.Node{ProviderID: id, HostUID: "host-uid"})
	live := func(more ...change) Observed {
		return observe(append([]change{bound, facts, deployed, runsImage}, more...)...)
	}
	plan := func(change func(*Plan), more ...metav1.Condition) Plan {
		p := deploys(serverRuns)
		p.ProviderID, p.Provisioned, p.Conditions = id, true, append(p.Conditions, more...)
		change(&p)
		return p
	}
	onNode := func(patch *nodes.Patch) func(*Plan) {
		return func(p *Plan) { p.NodeName, p.NodePatch = "node-1", patch }
	}
	nowhere := func(*Plan) {}
	lost := func(message string) Plan {
		return Plan{ProviderID: id, Provisioned: true, Conditions: []metav1.Condition{waiting("AssociateBareMetalHost", "HostLost", message)}}
	}
	known := func(o *Observed) { o.Machine.Status.NodeName = "node-1" }
	cloud := func(o *Observed) { o.Infra.Spec.CloudProviderEnabled = ptr.To(true) }
	synced := func(prefixes string) change {
		return func(o *Observed) {
			o.Infra.Annotations = map[string]string{infrav1.LabelSyncPrefixesAnnotation: prefixes}
		}
	}
	racked := func(o *Observed) {
		synced("rack.example")(o)
		o.Host.Labels = map[string]string{"rack.example/row": "7", "row": "7"}
	}
	labeled := holding("NodeLabelsSynchronized", "NodeLabelsSynchronized")
	for name, tc := range map[string]struct {
		given Observed
		want  Plan
	}{
		"keeps a provider ID that is already set": {
			live(func(o *Observed) { o.Machine.Spec.ProviderID = "metal3://tenant-a/old/m-1" }),
			plan(func(p *Plan) { p.ProviderID = "metal3://tenant-a/old/m-1" }, noNode),
		},
		"tells of a wish about cleaning that counts at times only": {
			live(func(o *Observed) { o.Machine.Spec.AutomatedCleaningMode = infrav1.CleaningModeDisabled }),
			plan(func(p *Plan) {
				p.Conditions[3].Message = "spec.automatedCleaningMode disabled counts only while the host is kept for the next machine, by nodeReuse " +
					"and where policy permits it: a host that is given back is cleaned, since its next tenant may be another"
			}, noNode),
		},
		"keeps the name of its Node while the workload cluster cannot be reached": {live(known), plan(onNode(nil), noNode)},
		"is not ready while its tenant has switched it off, and stays provisioned": {
			live(joined, func(o *Observed) { o.Claim.PoweredOn = false }),
			plan(func(p *Plan) {
				p.Claim.PoweredOn, p.NodeName = false, "node-1"
				p.Conditions[3] = waiting("HostClaimReady", "PoweredOff",
					`The server was switched off by spec.poweredOn of HostClaim "m-1": set it to true to have the server run`)
			}, nodeFound),
		},
		"forgets a Node that is gone": {
			live(node(nodes.None, nodes.Node{}), known),
			plan(nowhere, waiting("KubernetesNodeReady", "WaitingForNode",
				"Waiting for a Node with this provider ID, or with the label metal3.io/uuid that names the host")),
		},
		"gives a Node that has the provider ID the label with its host": {
			live(node(nodes.ByProviderID, nodes.Node{ProviderID: id})), plan(onNode(&nodes.Patch{Node: "node-1", HostUID: "host-uid"}), nodeFound),
		},
		"has nothing to do for a Node that has both": {live(joined), plan(onNode(nil), nodeFound)},
		"leaves Nodes to the cloud provider if there is one": {
			live(node(nodes.ByHostUID, nodes.Node{HostUID: "host-uid"}), cloud), plan(onNode(nil), nodeFound),
		},
		"gives a Node its labels with its provider ID, and takes off what the host does not have": {
			live(racked, node(nodes.ByHostUID, nodes.Node{HostUID: "host-uid", Labels: map[string]string{"rack.example/old": ""}})),
			plan(onNode(&nodes.Patch{
				Node: "node-1", ProviderID: id, Labels: map[string]*string{"rack.example/row": ptr.To("7"), "rack.example/old": nil},
			}), nodeFound, labeled),
		},
		"gives labels to the Node of a cloud provider": {
			live(racked, node(nodes.ByHostUID, nodes.Node{}), cloud),
			plan(onNode(&nodes.Patch{Node: "node-1", Labels: map[string]*string{"rack.example/row": ptr.To("7")}}), nodeFound, labeled),
		},
		"leaves the labels of a Node while those of the host are not known": {
			live(racked, func(o *Observed) { o.Facts, o.Host.Labels = false, nil },
				node(nodes.ByProviderID, nodes.Node{ProviderID: id, HostUID: "host-uid", Labels: map[string]string{"rack.example/row": "7"}})),
			plan(onNode(nil), nodeFound),
		},
		"says under which prefixes its host shows no label": {
			live(racked, joined, synced("feed.example,unit.example")),
			plan(onNode(nil), nodeFound, waiting("NodeLabelsSynchronized", "LabelsNotPublished",
				"The server shows no label under feed.example, unit.example: its owner labels it, or lets the label be seen "+
					"by the option hostclaim.metal3.io/publish-labels of a HostDeployPolicy")),
		},
		"changes no label by a list of prefixes that it cannot read": {
			live(racked, joined, synced("k8s.io")),
			plan(onNode(nil), nodeFound, waiting("NodeLabelsSynchronized", "InvalidConfiguration",
				"Correct the annotation metal3.io/metal3-label-sync-prefixes of the Metal3Cluster: "+
					`"k8s.io" is refused: labels of k8s.io and below have a meaning to Kubernetes`)),
		},
		"is at a loss with two Nodes": {
			live(node(nodes.Ambiguous, nodes.Node{})),
			plan(nowhere, waiting("KubernetesNodeReady", "NodeAmbiguous", "Several Nodes claim to run on this host: delete those that do not")),
		},
		"leaves a Node alone that belongs to another machine": {
			live(node(nodes.Taken, nodes.Node{ProviderID: "metal3://x/y/z"})),
			plan(nowhere, waiting("KubernetesNodeReady", "NodeTaken",
				`Node "node-1" runs on this host and carries another provider ID: delete the Node so that it registers anew`)),
		},
		"stays provisioned when the host is in trouble later, and still looks after its Node": {
			observe(bound, deployed, established, joined, func(o *Observed) { o.Claim.Message = "Host in error" }),
			plan(func(p *Plan) {
				p.NodeName, p.Conditions[3] = "node-1", waiting("HostClaimReady", "Provisioning", "Host in error")
			}, nodeFound),
		},
		"reports a host that is gone, and asks for no other one": {
			observe(established, func(o *Observed) {
				o.Claim = claims.State{Phase: claims.Lost, Name: "m-1", Message: "host-1 was deleted"}
			}),
			lost("The host is gone or no longer names the HostClaim: the Machine must be replaced"),
		},
		"reports a claim that is gone, and makes no other one": {
			observe(established), lost("The HostClaim of this machine was deleted, and with it the host was given back: the Machine must be replaced"),
		},
		"reports a claim that is being deleted under its machine": {
			observe(bound, deployed, established, func(o *Observed) { o.Claim.Deleting = true }),
			lost(`HostClaim "m-1" is being deleted and its host wiped: the Machine must be replaced`),
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, tc.given, tc.want) })
	}
}

// check compares the plan, and makes sure that the same facts give it again.
func check(t *testing.T, given Observed, want Plan) {
	t.Helper()
	expect.Equal(t, want, Next(given))
	expect.Equal(t, want, Next(given))
}

func TestPullSecret(t *testing.T) {
	image := func(url, pullSecret string) func(*Observed) {
		return func(o *Observed) {
			o.Machine.Spec.Image = &infrav1.Image{URL: url}
			annotated(infrav1.PullSecretAnnotation, pullSecret)(o)
		}
	}
	for name, tc := range map[string]struct {
		given Observed
		want  string
	}{
		"is that of an OCI image":              {observe(bound, facts, rendered, image("OCI://registry/image", "registry")), "registry"},
		"is not needed for an image of a URL":  {observe(bound, facts, rendered, image("https://x/image", "registry")), ""},
		"is not needed for a public OCI image": {observe(bound, facts, rendered, image("oci://registry/image", "")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := Next(tc.given)
			if got := claims.PullSecretOf(p.Claim.Deployment.Image); got != tc.want || p.Secrets.PullSecret != tc.want {
				t.Errorf("the image names %q, the machine %q, want %q", got, p.Secrets.PullSecret, tc.want)
			}
		})
	}
	p := Next(observe(bound, facts, rendered, image("oci://registry/image", "../other/secret")))
	if waits := p.waits(); p.Claim.Deployment != nil || len(waits) != 1 || waits[0].Reason != infrav1.InvalidConfigurationReason ||
		!strings.Contains(waits[0].Message, infrav1.PullSecretAnnotation) {
		t.Errorf("with a name that cannot be one the plan is %+v", p)
	}
}

// The claim of a machine that was deleted without it hands on no server by its name.
func TestClaimOfAnEarlierMachine(t *testing.T) {
	established := func(o *Observed) { o.Machine.Spec.ProviderID = "metal3://tenant/host-1/m-1" }
	former := func(deleting, paused bool) func(*Observed) {
		return func(o *Observed) {
			o.InTheWay = &bmov1alpha1.HostClaim{}
			o.InTheWay.Spec.ConsumerRef = &corev1.ObjectReference{Kind: claims.MachineKind, Namespace: o.Machine.Namespace, Name: o.Machine.Name}
			if deleting {
				ending(o.InTheWay)
			}
			if paused {
				o.InTheWay.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			}
		}
	}
	for name, tt := range map[string]struct {
		given  Observed
		reason string
		says   []string
	}{
		"that kept its server":                      {observe(established, former(false, true)), "HostClaimNameTaken", []string{"not given back", "ownerReferences"}},
		"that kept its server, for a new machine":   {observe(former(false, false)), "HostClaimNameTaken", []string{"not given back", "ownerReferences"}},
		"that is deleted and paused":                {observe(established, former(true, true)), "HostClaimNameTaken", []string{"runs on", clusterv1.PausedAnnotation, "must be replaced"}},
		"that is deleted and paused, for a new one": {observe(former(true, true)), "HostClaimNameTaken", []string{"runs on", clusterv1.PausedAnnotation}},
		"that is wiped":                             {observe(established, former(true, false)), "HostLost", []string{"wiped", "must be replaced"}},
		"that is wiped, for a new machine":          {observe(former(true, false)), "HostClaimNotBound", []string{"will follow"}},
		"that a copy of the machine has":            {observe(established, func(o *Observed) { o.TakenOver = true }), "HostClaimTakenOver", []string{"belongs to a copy"}},
		"in another cluster, that is gone or not found": {observe(established, func(o *Observed) {
			o.Remote = &claims.Remote{Namespace: "n", Origin: "o"}
		}), "HostLost", []string{infrav1.OriginKey}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Next(tt.given)
			waits := p.waits()
			if p.Claim != nil || len(waits) != 1 || waits[0].Reason != tt.reason {
				t.Fatalf("writes %v and waits %v, want %s", p.Claim, waits, tt.reason)
			}
			for _, part := range tt.says {
				if !strings.Contains(waits[0].Message, part) {
					t.Errorf("does not say %q: %s", part, waits[0].Message)
				}
			}
			if strings.Contains(waits[0].Message, "replaced") && tt.given.Machine.Spec.ProviderID == "" {
				t.Errorf("a new machine need not be replaced: %s", waits[0].Message)
			}
		})
	}
}
