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

package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

const (
	// readyTimeout is how long a manager may take to fill its caches.
	readyTimeout = 2 * time.Minute
	// portsEach is how many ports each manager is given.
	portsEach = 4
)

// Options are the control plane beside which the managers run.
type Options struct {
	Cluster *cluster.Cluster
	Repo    components.Repo
	Out     *console.Printer
	// Installed reports whether another tool has installed the manifests. The Deployments in the
	// cluster decide then, as for a kubelet, and only webhooks are pointed at the processes.
	Installed bool
}

// Running is a manager that was started.
type Running struct {
	Place

	Process        *process.Process
	ServiceAccount string
	// Spec starts the same process once more, after it was stopped.
	Spec process.Spec

	webhooks bool
}

// prepared is a manager whose manifests were read.
type prepared struct {
	Manager

	place    Place
	workload manifests.Workload
	objects  []*unstructured.Unstructured
	// extensions are what the API server takes only when the webhooks of Cluster API answer.
	extensions []*unstructured.Unstructured
}

// Start installs the manifests of all managers, those of later ones over those of
// earlier ones, then starts the processes together. It returns when all are
// ready and their runtime extensions are registered, keyed by component.
func Start(ctx context.Context, o Options, managers []Manager) (map[string]*Running, error) {
	if len(managers) == 0 {
		return map[string]*Running{}, nil
	}
	c, err := client.New(o.Cluster.Admin, client.Options{})
	if err != nil {
		return nil, err
	}
	task := o.Out.Task("install CRDs, roles and webhooks")
	all, err := o.install(ctx, c, managers)
	task.Done(err)
	if err != nil {
		return nil, err
	}
	started := make([]*Running, len(all))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, p := range all {
		group.Go(func() error {
			task := o.Out.Task("start " + p.Component)
			running, err := o.start(groupCtx, p)
			task.Done(err)
			started[i] = running
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	running := map[string]*Running{}
	for i, p := range all {
		running[p.Component] = started[i]
		if err := manifests.Apply(ctx, c, p.extensions); err != nil {
			return nil, err
		}
	}
	return running, nil
}

func (o Options) install(ctx context.Context, c client.Client, managers []Manager) ([]*prepared, error) {
	ports, err := cluster.FreePorts(portsEach * len(managers))
	if err != nil {
		return nil, err
	}
	all := make([]*prepared, len(managers))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, m := range managers {
		group.Go(func() error {
			p, err := o.prepare(groupCtx, c, m, ports[portsEach*i:])
			if err != nil {
				return fmt.Errorf("manifests of %s: %w", m.Component, err)
			}
			all[i] = p
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if o.Installed {
		return all, nil
	}
	var objects [][]*unstructured.Unstructured
	for _, p := range all {
		objects = append(objects, p.objects)
	}
	return all, manifests.Apply(ctx, c, manifests.Merge(objects...))
}

// prepare reads the manifests and points their webhooks at the chosen port.
func (o Options) prepare(ctx context.Context, c client.Client, m Manager, ports []int) (*prepared, error) {
	source, err := m.source(ctx, o.Repo)
	if err != nil {
		return nil, err
	}
	objects, err := manifests.Render(filepath.Join(source, m.Kustomization), m.Variables)
	if err != nil {
		return nil, err
	}
	if o.Installed {
		if objects, err = manifests.Installed(ctx, c, objects); err != nil {
			return nil, err
		}
	}
	p := &prepared{Manager: m}
	if p.workload, p.objects, err = manifests.Split(objects); err != nil {
		return nil, err
	}
	manifests.LabelKinds(p.objects)
	dir := filepath.Join(o.Cluster.Dir, "managers", m.Component)
	p.place = Place{
		Namespace: p.workload.Namespace,
		Dir:       dir,
		CertDir:   filepath.Join(dir, "k8s-webhook-server", "serving-certs"),
		Health:    ports[0],
		Webhook:   ports[1],
		Metrics:   ports[2],
		Extension: ports[3],
	}
	serving, err := o.Cluster.Authority.Serving("127.0.0.1")
	if err != nil {
		return nil, err
	}
	if _, _, err := serving.Write(p.place.CertDir, "tls"); err != nil {
		return nil, err
	}
	endpoint := manifests.Endpoint{
		URL:       "https://" + loopback(p.place.Webhook),
		Extension: "https://" + loopback(p.place.Extension),
		CA:        o.Cluster.Authority.Cert,
	}
	if o.Installed {
		return p, manifests.Point(ctx, c, p.objects, endpoint)
	}
	err = manifests.UseURLs(p.objects, endpoint)
	p.extensions, p.objects = manifests.Extensions(p.objects)
	return p, err
}

func (o Options) start(ctx context.Context, p *prepared) (*Running, error) {
	kubeconfig, err := o.Cluster.AccountKubeconfig(ctx, p.workload.Namespace, p.workload.ServiceAccount)
	if err != nil {
		return nil, err
	}
	p.place.Kubeconfig = kubeconfig
	binary, err := p.binary(o.Repo)
	if err != nil {
		return nil, err
	}
	env := append([]string{"POD_NAMESPACE=" + p.workload.Namespace}, p.workload.Env...)
	if p.Env != nil {
		env = append(env, p.Env(p.place)...)
	}
	running := &Running{Place: p.place, ServiceAccount: p.workload.ServiceAccount, webhooks: p.hasWebhooks(), Spec: process.Spec{
		Name:  p.Component,
		Path:  binary,
		Args:  append(append([]string{}, p.workload.Args...), p.Args(p.place)...),
		Env:   env,
		Tier:  cluster.TierManagers,
		Ready: fmt.Sprintf("http://%s/readyz", loopback(p.place.Health)),
	}}
	return running, running.Start(ctx, o.Cluster)
}

// Start starts the process, for the first time or after it was stopped, and
// waits until it is ready and its webhook server shows a certificate that the
// API server will trust.
func (r *Running) Start(ctx context.Context, c *cluster.Cluster) error {
	p, err := c.Group.Start(r.Spec)
	if err != nil {
		return err
	}
	r.Process = p
	ready := cluster.Healthy(http.DefaultClient, r.Spec.Ready)
	return p.WaitReady(ctx, readyTimeout, func(ctx context.Context) error {
		if err := ready(ctx); err != nil || !r.webhooks {
			return err
		}
		connection, err := (&tls.Dialer{Config: c.TLS()}).DialContext(ctx, "tcp", loopback(r.Webhook))
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// hasWebhooks reports whether a webhook configuration has the API server call this manager.
func (p *prepared) hasWebhooks() bool {
	for _, object := range p.objects {
		switch object.GetKind() {
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
			return true
		}
	}
	return false
}
