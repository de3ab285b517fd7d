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

package e2e

import (
	"maps"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// victim is a process of a side that is killed and started again.
type victim struct {
	*side

	record process.Record
	// managers are those that end with it: itself, or all that may not outlive their API server.
	// They do not count as crashed until it is back.
	managers map[string]*manager.Running
}

// victim prepares for the end of a manager, or of the API server.
func (s *side) victim(t *testing.T, name string) *victim {
	t.Helper()
	records, err := process.Recorded(s.Dir)
	must(t, err)
	i := slices.IndexFunc(records, func(r process.Record) bool { return r.Name == name })
	v := &victim{side: s, record: records[i], managers: maps.Clone(s.Running)}
	if running, found := s.Running[name]; found {
		v.managers = map[string]*manager.Running{name: running}
	} else {
		s.history.miss()
	}
	maps.DeleteFunc(s.Running, func(name string, _ *manager.Running) bool { return v.managers[name] != nil })
	return v
}

// kill ends it in the middle of whatever it does.
func (v *victim) kill() error {
	return syscall.Kill(v.record.PID, syscall.SIGKILL)
}

// startAgain starts it, and what has not outlived it, as a kubelet would.
func (v *victim) startAgain(t *testing.T) {
	t.Helper()
	name := v.record.Name
	eventually(t, name+" has let go of its port", func(g gomega.Gomega) {
		g.Expect(syscall.Kill(v.record.PID, 0)).To(gomega.MatchError(syscall.ESRCH))
	})
	// It is dead already; this only strikes it off the list of what must be ended.
	must(t, v.Group.StopOne(name))
	if running, found := v.managers[name]; found {
		must(t, running.Start(t.Context(), v.Cluster))
	} else {
		v.startAPIServer(t)
	}
	maps.Copy(v.Running, v.managers)
}

func (v *victim) startAPIServer(t *testing.T) {
	t.Helper()
	r := v.record
	p, err := v.Group.Start(process.Spec{Name: r.Name, Path: r.Path, Args: r.Args, Env: r.Env, Tier: r.Tier, Ready: r.Ready})
	must(t, err)
	ready := cluster.Healthy(&http.Client{Transport: &http.Transport{TLSClientConfig: v.TLS()}}, v.Server+"/readyz")
	must(t, p.WaitReady(t.Context(), stepTimeout, ready))
	c, err := client.New(v.Admin, client.Options{})
	must(t, err)
	since := time.Now()
	eventually(t, "the managers have outlived their API server, or are new", func(g gomega.Gomega) {
		for name, running := range v.managers {
			select {
			case <-running.Process.Exited():
				must(t, v.Group.StopOne(name))
				must(t, running.Start(t.Context(), v.Cluster))
			default:
			}
		}
		for _, name := range []string{components.ProviderManager, components.HostClaimManager} {
			var leases coordinationv1.LeaseList
			g.Expect(c.List(t.Context(), &leases, client.InNamespace(v.managers[name].Namespace))).To(gomega.Succeed())
			g.Expect(leases.Items).NotTo(gomega.BeEmpty(), name)
			for _, lease := range leases.Items {
				g.Expect(lease.Spec.RenewTime.Time).To(gomega.BeTemporally(">", since), lease.Name)
			}
		}
	})
}
