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

package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// Program is a manager that can be started. It must have the flags that managers
// of Cluster API have.
type Program struct {
	// Name is that of its files.
	Name string
	// Path is the program itself.
	Path string
	// User is the name that the API server knows it by.
	User string
	// Args come after those for where it works and how it is watched.
	Args []string
}

// Manager is a manager in a process of its own.
type Manager struct {
	command     *exec.Cmd // nil if another program has started it
	pid         int
	diagnostics string
	ended       chan error
	again       func(context.Context) (*Manager, error)
}

// Build compiles a program of this repository into a folder.
func Build(ctx context.Context, folder, name, pkg string) (string, error) {
	repo, err := components.FindRepo(".")
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, name)
	build := exec.CommandContext(ctx, "go", "build", "-C", repo.Path(), "-o", program, pkg)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return program, nil
}

// StartManager runs a program and returns when its controllers are at work. Its
// log and its kubeconfig go to the folder.
func (s *Site) StartManager(ctx context.Context, p Program, folder string) (*Manager, error) {
	kubeconfig := filepath.Join(folder, p.Name+".kubeconfig")
	if err := s.writeKubeconfig(kubeconfig, p.User); err != nil {
		return nil, err
	}
	health, diagnostics, err := freeAddresses(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(folder, p.Name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	m := &Manager{diagnostics: diagnostics, ended: make(chan error, 1)}
	m.again = func(ctx context.Context) (*Manager, error) { return s.StartManager(ctx, p, folder) }
	m.command = exec.Command(p.Path, append([]string{
		"--kubeconfig=" + kubeconfig, "--health-addr=" + health,
		"--diagnostics-address=" + diagnostics, "--insecure-diagnostics",
	}, p.Args...)...)
	m.command.Stdout, m.command.Stderr = log, log
	if err := m.command.Start(); err != nil {
		return nil, err
	}
	m.pid = m.command.Process.Pid
	go func() { m.ended <- m.command.Wait() }()
	return m, m.awaitStart(ctx)
}

// StartPools starts the ip-address-manager of the dev cluster with the account, the roles and the webhooks of its
// manifests, and with more flags.
func (s *Site) StartPools(ctx context.Context, folder string, args ...string) (*Manager, error) {
	repo, err := components.FindRepo(".")
	if err != nil {
		return nil, err
	}
	if err := repo.Build(ctx, console.New(os.Stderr), components.IPAddressManager); err != nil {
		return nil, err
	}
	found, err := components.Lookup(components.IPAddressManager)
	if err != nil {
		return nil, err
	}
	p := Program{Name: components.IPAddressManager}
	if p.Path, err = repo.Binary(found[0]); err != nil {
		return nil, err
	}
	webhooks, err := harness.NewWebhooks()
	if err != nil {
		return nil, err
	}
	if p.User, err = s.Server.InstallManager(ctx, components.IPAddressManager, webhooks); err != nil {
		return nil, err
	}
	p.Args = append([]string{fmt.Sprintf("--webhook-port=%d", webhooks.Port), "--webhook-cert-dir=" + webhooks.CertDir}, args...)
	return s.StartManager(ctx, p, folder)
}

// Attach measures a manager that another program has started, and will end.
// Diagnostics is the address that serves its metrics by plain HTTP.
func Attach(pid int, diagnostics string) *Manager {
	return &Manager{pid: pid, diagnostics: diagnostics}
}

// awaitStart waits until the manager's controllers are at work, which their
// metrics show.
func (m *Manager) awaitStart(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if series, err := scrape(ctx, http.DefaultClient, m.url(), "controller_runtime_active_workers"); err == nil && len(series) > 0 {
			return nil
		}
		select {
		case err := <-m.ended:
			return fmt.Errorf("the manager has ended: %w, see its log", err)
		case <-ctx.Done():
			return errors.Join(errors.New("the manager did not start in time"), m.Stop())
		case <-tick.C:
		}
	}
}

func (m *Manager) url() string { return "http://" + m.diagnostics + "/metrics" }

// Work is what a manager has done.
type Work struct {
	// Passes of its controllers, by controller.
	Passes map[string]float64
	// Sent is what Manager.Sent counts.
	Sent float64
	// CPU is how long it has been on a processor.
	CPU time.Duration
}

// Work is what the manager has done since its start.
func (m *Manager) Work(ctx context.Context) (Work, error) {
	w := Work{Passes: map[string]float64{}}
	passes, err := scrape(ctx, http.DefaultClient, m.url(), "controller_runtime_reconcile_total")
	if err != nil {
		return w, err
	}
	for _, one := range passes {
		w.Passes[label(one, "controller")] += value(one)
	}
	if w.Sent, err = m.Sent(ctx); err != nil {
		return w, err
	}
	w.CPU, err = m.cpu()
	return w, err
}

// Since is the work that was not done before.
func (w Work) Since(before Work) Work {
	since := Work{Passes: map[string]float64{}, Sent: w.Sent - before.Sent, CPU: w.CPU - before.CPU}
	for name, count := range w.Passes {
		since.Passes[name] = count - before.Passes[name]
	}
	return since
}

// PassesOf are the passes of some controllers; of all without names.
func (w Work) PassesOf(controllers ...string) (sum float64) {
	for name, count := range w.Passes {
		if len(controllers) == 0 || slices.Contains(controllers, name) {
			sum += count
		}
	}
	return sum
}

// Sent is how many requests the manager has sent to the API server and had
// answered, those that open watches among them.
func (m *Manager) Sent(ctx context.Context) (float64, error) {
	return m.sum(ctx, "rest_client_requests_total", func(*dto.Metric) bool { return true })
}

// Connections returns how many connections to other clusters the manager reports as
// usable.
func (m *Manager) Connections(ctx context.Context) (float64, error) {
	return m.sum(ctx, "capm3_remote_connections", func(one *dto.Metric) bool { return label(one, "state") == "Connected" })
}

// Goroutines is how many the manager has now.
func (m *Manager) Goroutines(ctx context.Context) (float64, error) {
	return m.sum(ctx, "go_goroutines", func(*dto.Metric) bool { return true })
}

// Slowed returns the namespaces whose remote and workload clusters the provider manager reads
// more slowly than they send, by its own report.
func (m *Manager) Slowed(ctx context.Context) (namespaces []string, err error) {
	series, err := scrape(ctx, http.DefaultClient, m.url(), "capm3_namespace_slowed")
	for _, one := range series {
		namespaces = append(namespaces, label(one, "namespace"))
	}
	return namespaces, err
}

func (m *Manager) sum(ctx context.Context, metric string, wanted func(*dto.Metric) bool) (float64, error) {
	series, err := scrape(ctx, http.DefaultClient, m.url(), metric)
	var sum float64
	for _, one := range series {
		if wanted(one) {
			sum += value(one)
		}
	}
	return sum, err
}

// Memory is what the process holds now, and the most that it ever held, in MiB.
func (m *Manager) Memory() (now, peak float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmRSS:":
			now = kib / 1024
		case "VmHWM:":
			peak = kib / 1024
		}
	}
	return now, peak, nil
}

// ForgetPeak has Memory return the most that the process holds from now on.
func (m *Manager) ForgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.pid), []byte("5"), 0)
}

// cpu is how long the process has been on a processor. Unlike a wall clock it does
// not care what else the machine does.
func (m *Manager) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.pid))
	if err != nil {
		return 0, err
	}
	// What follows the name, which is in brackets and may hold anything, starts
	// with the third field; the 14th and 15th are what is wanted.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("too few fields in %q", text)
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// ticksPerSecond is the unit of /proc/<pid>/stat on every Linux of today.
const ticksPerSecond = 100

// Stop ends the manager as a Pod is ended.
func (m *Manager) Stop() error {
	if err := m.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-m.ended
}

// Restart ends the manager as a Pod is ended, and returns when another process of the same
// program is at work.
func (m *Manager) Restart(ctx context.Context) error {
	return errors.Join(m.Stop(), m.Replace(ctx))
}

// Kill ends the manager without a word. Only an election of leaders keeps it and the next one
// apart.
func (m *Manager) Kill() error {
	if err := m.command.Process.Kill(); err != nil {
		return err
	}
	<-m.ended
	return nil
}

// Replace starts another process of the same program for one that has ended, and returns when it is
// at work.
func (m *Manager) Replace(ctx context.Context) error {
	other, err := m.again(ctx)
	if other != nil {
		*m = *other
	}
	return err
}

// writeKubeconfig lets a manager act as the user.
func (s *Site) writeKubeconfig(path, user string) error {
	config := s.Server.Config
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	const name = "bench"
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: base.String(), CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Impersonate: user,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, path)
}

// freeAddresses are two addresses of this machine that no program listens on.
func freeAddresses(ctx context.Context) (string, string, error) {
	var found [2]string
	for i := range found {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		defer func() { _ = listener.Close() }()
		found[i] = listener.Addr().String()
	}
	return found[0], found[1], nil
}
