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

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/pki"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// readyTimeout is generous: on a busy machine the API server takes a while.
const readyTimeout = 2 * time.Minute

// Options are where a control plane lives and from what it is started.
type Options struct {
	// Dir is the state folder; what an earlier cluster left there is removed.
	Dir  string
	Repo components.Repo
	// Group runs the processes. The caller that made it ends them.
	Group *process.Group
	Out   *console.Printer
	// Audit has the API server log the requests of service accounts, see AuditLog.
	Audit bool
}

// Cluster is a running control plane.
type Cluster struct {
	Dir       string
	Authority *pki.Authority
	// Server is the URL of the API server.
	Server string
	// Admin may do everything.
	Admin *rest.Config
	Group *process.Group
}

// Components lists the programs that Start needs.
func Components() []string {
	return []string{components.Etcd, components.APIServer, components.ControllerManager}
}

// AdminKubeconfig is where the administrator's kubeconfig of a state folder lies.
func AdminKubeconfig(dir string) string {
	return filepath.Join(dir, "kubeconfig")
}

// Start brings up an empty control plane and returns when its API server and
// controller manager are ready. The programs must have been built.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	s, err := prepare(o)
	if err != nil {
		return nil, fmt.Errorf("prepare the state folder %s: %w", o.Dir, err)
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{components.Etcd, s.startEtcd},
		{components.APIServer, s.startAPIServer},
		{components.ControllerManager, s.startControllerManager},
	} {
		task := o.Out.Task("start " + step.name)
		err := step.run(ctx)
		task.Done(err)
		if err != nil {
			return nil, err
		}
	}
	return s.cluster, nil
}

// Open returns the credentials of a cluster that runs in dir.
func Open(dir string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", AdminKubeconfig(dir))
	if err != nil {
		return nil, fmt.Errorf("no dev cluster runs in %s: %w", dir, err)
	}
	return unthrottled(config), nil
}

// starter carries what the three start steps share.
type starter struct {
	options Options
	cluster *Cluster
	pkiDir  string
	ports   []int
	etcdURL string
}

// prepare empties the state folder and writes keys and the kubeconfig into it.
func prepare(o Options) (*starter, error) {
	s := &starter{options: o, pkiDir: filepath.Join(o.Dir, "pki")}
	for _, old := range []string{"etcd", "pki", "accounts", "managers"} {
		if err := os.RemoveAll(filepath.Join(o.Dir, old)); err != nil {
			return nil, err
		}
	}
	var err error
	if s.ports, err = FreePorts(4); err != nil {
		return nil, err
	}
	authority, err := pki.NewAuthority("devcluster")
	if err != nil {
		return nil, err
	}
	s.cluster = &Cluster{
		Dir:       o.Dir,
		Authority: authority,
		Server:    fmt.Sprintf("https://127.0.0.1:%d", s.ports[2]),
		Group:     o.Group,
	}
	if err := s.writeKeys(); err != nil {
		return nil, err
	}
	return s, s.writeAdmin()
}

func (s *starter) writeKeys() error {
	a := s.cluster.Authority
	if _, _, err := a.Write(s.pkiDir, "ca"); err != nil {
		return err
	}
	serving, err := a.Serving("127.0.0.1", "localhost", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	if _, _, err := serving.Write(s.pkiDir, "apiserver"); err != nil {
		return err
	}
	signer, err := a.Client("service-accounts")
	if err != nil {
		return err
	}
	_, _, err = signer.Write(s.pkiDir, "service-accounts")
	return err
}

func (s *starter) writeAdmin() error {
	path, err := s.cluster.clientKubeconfig("kubernetes-admin", "system:masters")
	if err != nil {
		return err
	}
	if err := os.Rename(path, AdminKubeconfig(s.options.Dir)); err != nil {
		return err
	}
	s.cluster.Admin, err = Open(s.options.Dir)
	return err
}
