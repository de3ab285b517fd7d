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
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// clusterctl runs the program and returns its output. It does not look at what the
// user of this machine has configured.
func clusterctl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return startClusterctl(t, args...).end()
}

// command is a clusterctl that runs while the test goes on.
type command struct {
	cmd  *exec.Cmd
	over chan struct{}
	err  error

	mu   sync.Mutex
	said []byte
	// do is called once, when the program has printed awaited.
	awaited string
	do      func()
}

// Write takes the output of the program.
func (r *command) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, text...)
	r.doIfSaid()
	return len(text), nil
}

func (r *command) doIfSaid() {
	if do := r.do; do != nil && bytes.Contains(r.said, []byte(r.awaited)) {
		r.do = nil
		do()
	}
}

// when does something in the very moment in which the program prints a text, and returns then.
func (r *command) when(t *testing.T, text string, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	r.mu.Lock()
	r.awaited, r.do = text, func() { done <- do() }
	r.doIfSaid()
	r.mu.Unlock()
	select {
	case err := <-done:
		expect.NoError(t, err)
	case <-r.over:
		expect.Must(t, len(done) != 0, "clusterctl has ended without %q: %s", text, r.output())
		expect.NoError(t, <-done)
	}
}

func (r *command) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.said)
}

// end waits until the program has ended and returns its output.
func (r *command) end() (string, error) {
	<-r.over
	return r.output(), r.err
}

// says waits until the program has printed the text.
func (r *command) says(t *testing.T, text string) {
	t.Helper()
	eventually(t, "clusterctl says "+text, func(g gomega.Gomega) {
		select {
		case <-r.over:
			gomega.StopTrying("clusterctl has ended: " + r.output()).Now()
		default:
		}
		g.Expect(r.output()).To(gomega.ContainSubstring(text))
	})
}

// kill ends the program in the middle of whatever it does.
func (r *command) kill(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	<-r.over
}

// startClusterctl does not wait for the end of the program, which comes with the test at the latest.
func startClusterctl(t *testing.T, args ...string) *command {
	t.Helper()
	_, program := harness.Clusterctl(t)
	r := &command{cmd: exec.CommandContext(t.Context(), program, args...), over: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = r, r
	r.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true")
	expect.NoError(t, r.cmd.Start())
	go func() {
		defer close(r.over)
		r.err = r.cmd.Wait()
	}()
	return r
}

// tenantUsesClusterctl runs the commands of the tenant's quick start with the
// kubeconfig of tenant b.
func (p *poolStory) tenantUsesClusterctl(t *testing.T) {
	g := gomega.NewWithT(t)
	about := []string{p.b.cluster.Name, "--namespace", p.b.Namespace, "--kubeconfig", p.b.Kubeconfig}

	said, err := clusterctl(t, append([]string{"describe", "cluster", "--show-conditions", "all", "--show-templates", "--echo", "--grouping=false"}, about...)...)
	g.Expect(err).NotTo(gomega.HaveOccurred(), said)
	kinds := []string{
		"Metal3Cluster", "KubeadmControlPlane", "MachineDeployment", "Metal3Machine", "KubeadmConfig",
		"Metal3MachineTemplate", "KubeadmConfigTemplate",
	}
	for _, kind := range kinds {
		g.Expect(strings.Contains(said, kind+" "+p.b.Namespace+"/b")).To(gomega.BeTrue(), "%s is missing in:\n%s", kind, said)
	}

	said, err = clusterctl(t, append([]string{"get", "kubeconfig"}, about...)...)
	g.Expect(err).NotTo(gomega.HaveOccurred(), said)
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(said))
	expect.NoError(t, err)
	expect.NoError(t, kubernetes.NewForConfigOrDie(config).RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error())

	other := []string{"get", "kubeconfig", p.a.cluster.Name, "--namespace", p.a.Namespace, "--kubeconfig", p.b.Kubeconfig}
	said, err = clusterctl(t, other...)
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(strings.ToLower(said)).To(gomega.ContainSubstring("forbidden"))
}
