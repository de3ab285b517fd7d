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
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// shutdownMargin is how long before the timeout of `go test` the cluster is ended:
// a test binary that is killed could not do it any more.
const shutdownMargin = 30 * time.Second

// lab is the dev cluster of this package. TestMain fills it before the first test.
var lab testCluster

// testCluster is a dev cluster with everything that watches it.
type testCluster struct {
	*stack.Stack

	// world is a live view of the cluster, admin reads and writes without a cache.
	world   *world.World
	admin   client.Client
	history *history

	// dir has the state and the logs.
	dir string
	end sync.Once
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	// Tests wait far more than they compute, so that all of them may run at a time.
	if err := flag.Set("test.parallel", "32"); err != nil {
		return reportError(err)
	}
	// Libraries would write between the lines of the tests; errors come back as such.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, cancel := interruptible()
	defer cancel()
	if err := lab.start(ctx); err != nil {
		return reportError(err)
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-over:
		case <-ctx.Done():
			lab.stop(1)
			os.Exit(reportError(context.Cause(ctx)))
		}
	}()
	return lab.stop(m.Run())
}

// interruptible returns a context that ends by a signal, or shortly before the
// timeout of the test.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	timeout, found := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if !found || timeout <= shutdownMargin {
		return ctx, stop
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout-shutdownMargin, fmt.Errorf("the tests are not done after %s", timeout-shutdownMargin))
	return limited, func() {
		cancel()
		stop()
	}
}

// start brings up the dev cluster and begins to watch it.
func (l *testCluster) start(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	if l.dir, err = os.MkdirTemp("", "hostclaim-e2e-"); err != nil {
		return err
	}
	all := manager.All()
	if long() {
		all = manager.WithInPlaceUpdates(all)
	}
	if os.Getenv("E2E_BMO") == "0.14" {
		all = manager.WithNewerBareMetalOperator(all)
	}
	l.Stack, err = stack.Up(ctx, stack.Options{Repo: repo, Dir: l.dir, Managers: managers(all), Out: console.New(os.Stderr)})
	if err != nil {
		return fmt.Errorf("%w\nlogs: %s", err, filepath.Join(l.dir, "logs"))
	}
	if err := l.watch(ctx); err != nil {
		return errors.Join(err, l.Group.Stop())
	}
	return nil
}

func (l *testCluster) watch(ctx context.Context) error {
	scheme, err := world.Scheme()
	if err != nil {
		return err
	}
	if l.admin, err = client.New(l.Admin, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if l.history, err = record(ctx, l.Admin, scheme); err != nil {
		return err
	}
	if l.world, err = world.Open(ctx, l.Admin); err != nil {
		return err
	}
	return nil
}

// stop ends the cluster, once. It returns the exit code: the given one, or a
// failure if the history of the run breaks an invariant. The state of a run that
// failed is explained, and its logs are kept.
func (l *testCluster) stop(code int) int {
	l.end.Do(func() {
		for _, violation := range l.history.violations() {
			fmt.Fprintln(os.Stderr, "invariant broken:", violation)
			code = 1
		}
		if code != 0 {
			fmt.Fprintln(os.Stderr, l.explain()+"\nlogs: "+filepath.Join(l.dir, "logs"))
		}
		// Tests that were interrupted have not ended their own clusters.
		entries, err := os.ReadDir(l.dir)
		for _, entry := range entries {
			if entry.IsDir() {
				err = errors.Join(err, stack.Down(l.folder(entry.Name()), console.New(os.Stderr)))
			}
		}
		err = errors.Join(err, l.Group.Stop())
		if err != nil {
			code = reportError(err)
		}
		l.clear(code == 0)
	})
	return code
}

// folder is that of a cluster which a test starts.
func (l *testCluster) folder(name string) string { return filepath.Join(l.dir, name) }

// managers are those given. A host whose claim is missing is given back after a second, so
// that no test goes well only because the grace is long.
func managers(all []manager.Manager) []manager.Manager {
	for i, m := range all {
		if m.Component == components.HostClaimManager {
			all[i].Args = func(p manager.Place) []string { return append(m.Args(p), "--orphan-grace=1s") }
		}
	}
	return all
}

// clear removes the state of the cluster, keys included, and the logs too if
// logs is true.
func (l *testCluster) clear(logs bool) {
	entries, err := os.ReadDir(l.dir)
	for _, entry := range entries {
		if logs || entry.Name() != "logs" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(l.dir, entry.Name())))
		}
	}
	if logs {
		err = errors.Join(err, os.Remove(l.dir))
	}
	if err != nil {
		reportError(err)
	}
}

// crashed returns why a process of the cluster is not running, if one is not.
func (l *testCluster) crashed() error {
	for _, running := range l.Running {
		select {
		case <-running.Process.Exited():
			return running.Process.Failure()
		default:
		}
	}
	return nil
}

func reportError(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

const (
	// stepTimeout is how long anything may take. Seconds are the rule, and the rest
	// is for machines that are busy with something else.
	stepTimeout = 6 * time.Minute
	// pace is how often it is looked at, in memory as a rule.
	pace = 100 * time.Millisecond
)

// eventually repeats check until it passes. It gives up at once when a process of the cluster has
// ended, and then or when time is up prints which machines do not run and why.
func eventually(t *testing.T, what string, check func(g gomega.Gomega)) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func(g gomega.Gomega) {
		if err := lab.crashed(); err != nil {
			gomega.StopTrying(err.Error()).Now()
		}
		check(g)
	}).WithContext(t.Context()).WithTimeout(stepTimeout).WithPolling(pace).Should(gomega.Succeed(), func() string {
		return what + "; " + lab.explain()
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	ports, err := cluster.FreeEndpoints(1)
	expect.NoError(t, err)
	return ports[0]
}

// eachSays expects each Metal3Machine of a namespace to have the condition, with the parts in its message.
func eachSays(t *testing.T, w *world.World, namespace string, want metav1.Condition, parts ...string) {
	t.Helper()
	eventually(t, "each machine says "+want.Reason, func(g gomega.Gomega) {
		machines, err := w.Machines(t.Context(), namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(machines).NotTo(gomega.BeEmpty())
		for _, m := range machines {
			g.Expect(m.Metal3).NotTo(gomega.BeNil(), m.Name())
			says(g, m.Metal3.Status.Conditions, want, parts...)
		}
	})
}

// says expects a condition with that status and reason, and the parts in its message.
func says(g gomega.Gomega, conditions []metav1.Condition, want metav1.Condition, parts ...string) {
	got := meta.FindStatusCondition(conditions, want.Type)
	g.Expect(got).NotTo(gomega.BeNil(), "condition %s", want.Type)
	g.Expect([]any{got.Status, got.Reason}).To(gomega.Equal([]any{want.Status, want.Reason}), "condition %s: %s", want.Type, got.Message)
	for _, part := range parts {
		g.Expect(got.Message).To(gomega.ContainSubstring(part))
	}
}

// unsaid lists the parts that a text lacks.
func unsaid(text string, parts ...string) (missing []string) {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			missing = append(missing, part)
		}
	}
	return missing
}

// explain returns, for every machine that does not run, in the given namespaces or in all, at which
// step it is and which of its conditions do not hold.
func (l *testCluster) explain(namespaces ...string) string {
	// The machines are in memory; the context of the caller may be over.
	machines, err := l.world.Machines(context.Background(), namespaces...)
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, m := range machines {
		if done := m.Running() || alone(m) && m.Provisioned(); !done {
			text.WriteString(explainMachine(m))
		}
	}
	if text.Len() == 0 {
		return "every machine runs"
	}
	return "machines that do not run:\n" + strings.TrimRight(text.String(), "\n")
}

// explainMachine returns the step of a machine, and its conditions that do not hold.
func explainMachine(m world.Machine) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", m.Name(), m.Step())
	for _, line := range complaints(m) {
		fmt.Fprintf(&text, "    %s\n", line)
	}
	return text.String()
}

// alone reports whether a machine was made by hand for a test about servers. It
// does not become a Node.
func alone(m world.Machine) bool {
	return metav1.GetControllerOf(m.Machine) == nil
}

// complaints lists the conditions of a machine and of what stands behind it that
// do not hold.
func complaints(m world.Machine) []string {
	lines := conditionLines("Machine", m.Machine.Status.Conditions)
	if m.Metal3 != nil {
		lines = append(lines, conditionLines("Metal3Machine", m.Metal3.Status.Conditions)...)
	}
	if m.Claim != nil {
		lines = append(lines, conditionLines("HostClaim", m.Claim.Status.Conditions)...)
	}
	if m.Host != nil {
		lines = append(lines, fmt.Sprintf("BareMetalHost %s/%s is %s, error %q", m.Host.Namespace, m.Host.Name,
			m.Host.Status.Provisioning.State, m.Host.Status.ErrorMessage))
	}
	return lines
}

func conditionLines(kind string, conditions []metav1.Condition) []string {
	// These are false on a machine that is well.
	fine := []string{
		clusterv1.PausedCondition, clusterv1.DeletingCondition,
		clusterv1.MachineUpdatingCondition,
	}
	var lines []string
	for _, c := range conditions {
		if c.Status != metav1.ConditionTrue && !slices.Contains(fine, c.Type) {
			lines = append(lines, fmt.Sprintf("%s %s: %s %s", kind, c.Type, c.Reason, strings.ReplaceAll(c.Message, "\n", " ")))
		}
	}
	return lines
}
