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

package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/cmd/kubectl-metal3/report"
)

// side is a cluster as the caller may see it, and the namespace that is meant there.
type side struct {
	client.Client

	namespace string
}

// clusters are that of the machines and, if the caller names it, another one with their hosts.
type clusters struct {
	own   side
	hosts *side
}

func (o *options) connect() (clusters, error) {
	own, err := connect(o.own)
	if err != nil || *o.hosts.KubeConfig+*o.hosts.Context == "" {
		return clusters{own: own}, err
	}
	if *o.hosts.KubeConfig == "" {
		o.hosts.KubeConfig = o.own.KubeConfig
	}
	o.hosts.CacheDir = o.own.CacheDir
	hosts, err := connect(o.hosts)
	if err != nil {
		return clusters{}, fmt.Errorf("the cluster with the hosts: %w", err)
	}
	if *o.own.Namespace != "" {
		hosts.namespace = *o.own.Namespace
	}
	return clusters{own: own, hosts: &hosts}, nil
}

func connect(flags *genericclioptions.ConfigFlags) (side, error) {
	config, configErr := flags.ToRESTConfig()
	namespace, _, namespaceErr := flags.ToRawKubeConfigLoader().Namespace()
	mapper, mapperErr := flags.ToRESTMapper()
	scheme := runtime.NewScheme()
	if err := errors.Join(configErr, namespaceErr, mapperErr, clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme), bmov1alpha1.AddToScheme(scheme)); err != nil {
		return side{}, err
	}
	config.QPS = -1 // the API server decides how much a caller may ask
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	return side{c, namespace}, err
}

// servers is the cluster with the hosts.
func (c clusters) servers() side {
	if c.hosts != nil {
		return *c.hosts
	}
	return c.own
}

// list lists objects of the namespace or of all, or tells why they cannot be listed.
func (s side) list(ctx context.Context, into client.ObjectList, kind string, all bool) []report.Link {
	namespace := s.namespace
	if all {
		namespace = ""
	}
	if err := s.List(ctx, into, client.InNamespace(namespace)); err != nil {
		return []report.Link{{Kind: kind, Namespace: namespace, Unread: explain(err)}}
	}
	return nil
}

// from reads the way of a machine from one of its objects on.
func (c clusters) from(ctx context.Context, kind, name string) (report.Objects, error) {
	own, servers := client.ObjectKey{Namespace: c.own.namespace, Name: name}, c.servers()
	remote := client.ObjectKey{Namespace: servers.namespace, Name: name}
	var o report.Objects
	switch kind {
	case "machine":
		machine := &clusterv1.Machine{}
		if err := c.own.Get(ctx, own, machine); err != nil {
			return o, err
		}
		return c.fromMachine(ctx, machine), nil
	case "metal3machine":
		machine := &infrav1.Metal3Machine{}
		if err := c.own.Get(ctx, own, machine); err != nil {
			return o, err
		}
		return c.aboveMetal3Machine(ctx, machine), nil
	case "hostclaim":
		o.Claim = &bmov1alpha1.HostClaim{}
		if err := servers.Get(ctx, remote, o.Claim); err != nil {
			return o, err
		}
		servers.hostOf(ctx, &o)
		return o, nil
	case "baremetalhost":
		o.Host = &bmov1alpha1.BareMetalHost{}
		return o, servers.Get(ctx, remote, o.Host)
	default:
		return o, fmt.Errorf("kind %s: use cluster, machine, metal3machine, hostclaim or baremetalhost", kind)
	}
}

// aboveMetal3Machine begins with the Machine, if there is one.
func (c clusters) aboveMetal3Machine(ctx context.Context, metal3 *infrav1.Metal3Machine) report.Objects {
	for _, ref := range metal3.OwnerReferences {
		if ref.Kind != "Machine" {
			continue
		}
		machine := &clusterv1.Machine{}
		key := client.ObjectKey{Namespace: metal3.Namespace, Name: ref.Name}
		unread := c.own.get(ctx, key, machine, "Machine")
		if len(unread) == 0 {
			return c.fromMachine(ctx, machine)
		}
		o := report.Objects{Unread: unread}
		c.fromMetal3Machine(ctx, metal3, &o)
		return o
	}
	o := report.Objects{}
	c.fromMetal3Machine(ctx, metal3, &o)
	return o
}

func (c clusters) fromMachine(ctx context.Context, machine *clusterv1.Machine) report.Objects {
	o := report.Objects{Machine: machine}
	ref := machine.Spec.InfrastructureRef
	if ref.Kind != "Metal3Machine" {
		return o
	}
	metal3 := &infrav1.Metal3Machine{}
	if o.Unread = c.own.get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: ref.Name}, metal3, "Metal3Machine"); len(o.Unread) == 0 {
		c.fromMetal3Machine(ctx, metal3, &o)
	}
	return o
}

func (c clusters) fromMetal3Machine(ctx context.Context, machine *infrav1.Metal3Machine, o *report.Objects) {
	o.Metal3Machine = machine
	if ref := machine.Status.RenderedData; ref != nil {
		data := &infrav1.Metal3Data{}
		unread := c.own.get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: ref.Name}, data, "Metal3Data")
		if o.Unread = append(o.Unread, unread...); len(unread) == 0 {
			o.Data = data
		}
	}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: claims.Name(machine.Name)}
	ref := machine.Status.HostClaim
	if ref != nil {
		key = client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	}
	servers := c.own
	if metav1.HasAnnotation(machine.ObjectMeta, infrav1.EffectiveIdentityAnnotation) {
		if c.hosts == nil {
			o.Unread = append(o.Unread, report.Link{
				Kind: "HostClaim", Namespace: key.Namespace, Name: key.Name,
				Unread: "in the cluster of the identityRef: give --hosts-kubeconfig or --hosts-context to read it",
			})
			return
		}
		servers = *c.hosts
	}
	claim := &bmov1alpha1.HostClaim{}
	switch unread := servers.get(ctx, key, claim, "HostClaim"); {
	case len(unread) == 0:
		o.Claim = claim
		servers.hostOf(ctx, o)
	case ref != nil || unread[0].Unread != gone:
		o.Unread = append(o.Unread, unread...)
	}
}

// hostOf reads the host of the claim.
func (s side) hostOf(ctx context.Context, o *report.Objects) {
	ref := o.Claim.Status.BareMetalHost
	if ref == nil {
		return
	}
	host := &bmov1alpha1.BareMetalHost{}
	unread := s.get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, host, "BareMetalHost")
	if o.Unread = append(o.Unread, unread...); len(unread) == 0 {
		o.Host = host
	}
}

// cluster reads a Cluster, and what its machines stand on.
func (c clusters) cluster(ctx context.Context, name string) (report.Link, []report.Objects, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.own.Get(ctx, client.ObjectKey{Namespace: c.own.namespace, Name: name}, cluster); err != nil {
		return report.Link{}, nil, err
	}
	root := report.ClusterLink(cluster)
	if ref := cluster.Spec.InfrastructureRef; ref.Kind == "Metal3Cluster" {
		infrastructure := &infrav1.Metal3Cluster{}
		unread := c.own.get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, infrastructure, ref.Kind)
		if len(unread) == 0 {
			unread = []report.Link{report.InfrastructureLink(infrastructure)}
		}
		root.Children = unread
	}
	var machines clusterv1.MachineList
	if err := c.own.List(ctx, &machines, client.InNamespace(cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name}); err != nil {
		root.Children = append(root.Children, report.Link{Kind: "Machine", Namespace: cluster.Namespace, Unread: explain(err)})
	}
	objects := make([]report.Objects, 0, len(machines.Items))
	for i := range machines.Items {
		o := c.fromMachine(ctx, &machines.Items[i])
		objects = append(objects, o)
		root.Children = append(root.Children, o.Tree()...)
	}
	return root, objects, nil
}

// preflight reads the clusters of CAPM3 of the namespace, or of all, each with what is in its namespace; only one if it is
// named.
func (c clusters) preflight(ctx context.Context, name string, all bool) ([]report.Namespace, []report.Link, error) {
	var found clusterv1.ClusterList
	unread := c.own.list(ctx, &found, "Cluster", all)
	byNamespace := map[string][]clusterv1.Cluster{}
	for _, cluster := range found.Items {
		if cluster.Spec.InfrastructureRef.Kind == "Metal3Cluster" && (name == "" || name == cluster.Name) {
			byNamespace[cluster.Namespace] = append(byNamespace[cluster.Namespace], cluster)
		}
	}
	if name != "" && len(byNamespace) == 0 && len(unread) == 0 {
		return nil, nil, fmt.Errorf("there is no Cluster %q with infrastructure Metal3Cluster in namespace %q: name another one, or its namespace by -n", name, c.own.namespace)
	}
	namespaces := make([]report.Namespace, 0, len(byNamespace))
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		n, missing := side{c.own.Client, namespace}.ofCAPM3(ctx)
		n.Clusters = byNamespace[namespace]
		namespaces, unread = append(namespaces, n), append(unread, missing...)
	}
	return namespaces, unread, nil
}

// ofCAPM3 reads what becomes of the clusters of a namespace depends on. A cluster that has no claims may not have their kind.
func (s side) ofCAPM3(ctx context.Context) (report.Namespace, []report.Link) {
	var (
		infrastructure infrav1.Metal3ClusterList
		machines       infrav1.Metal3MachineList
		templates      infrav1.Metal3MachineTemplateList
		dataTemplates  infrav1.Metal3DataTemplateList
		remediations   infrav1.Metal3RemediationList
		hosts          bmov1alpha1.BareMetalHostList
		claims         bmov1alpha1.HostClaimList
	)
	unread := slices.Concat(
		s.list(ctx, &infrastructure, "Metal3Cluster", false),
		s.list(ctx, &machines, "Metal3Machine", false),
		s.list(ctx, &templates, "Metal3MachineTemplate", false),
		s.list(ctx, &dataTemplates, "Metal3DataTemplate", false),
		s.list(ctx, &remediations, "Metal3Remediation", false),
		s.list(ctx, &hosts, "BareMetalHost", false))
	if missing := s.list(ctx, &claims, "HostClaim", false); len(missing) > 0 && missing[0].Unread != unknownKind {
		unread = append(unread, missing...)
	}
	return report.Namespace{
		Infrastructure: infrastructure.Items, Machines: machines.Items, Templates: templates.Items, DataTemplates: dataTemplates.Items,
		Remediations: remediations.Items, Hosts: hosts.Items, Claims: claims.Items,
	}, unread
}

// unknownKind is why an object of a kind that is not served cannot be read.
const unknownKind = "this cluster does not have the kind"

// gone is why an object that does not exist cannot be read.
const gone = "does not exist"

// get reads an object, or returns a link with the reason for which it cannot be read.
func (s side) get(ctx context.Context, key client.ObjectKey, into client.Object, kind string) []report.Link {
	if err := s.Get(ctx, key, into); err != nil {
		return []report.Link{{Kind: kind, Namespace: key.Namespace, Name: key.Name, Unread: explain(err)}}
	}
	return nil
}

func explain(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return gone
	case meta.IsNoMatchError(err):
		return unknownKind
	default:
		return strings.ReplaceAll(err.Error(), "\n", " ")
	}
}
