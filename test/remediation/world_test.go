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

package remediation

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remediation"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

const (
	name    = "m-1"
	holdOff = "reboot.metal3.io/metal3-remediation." + name
	timeout = 10 * time.Minute
)

// world is a machine with a Node on which a Pod with a volume runs.
type world struct {
	harness.Tenant

	machine     *clusterv1.Machine
	claim       *bmov1alpha1.HostClaim
	remediation *infrav1.Metal3Remediation
	node        *corev1.Node
	clock       ahead

	// reboots counts how often the server was switched off.
	reboots int
}

// ahead is a clock that goes by itself, ahead of the real one by some nanoseconds. Under one that
// stands a pass that is put off for a while would never come.
type ahead struct{ by atomic.Int64 }

func (a *ahead) Now() time.Time                  { return time.Now().Add(time.Duration(a.by.Load())) }
func (a *ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{Tenant: server.NewTenant(t, "remediation")}
	key := w.Key(name)
	cluster := builder.Cluster(w.Key("a"))
	w.machine = builder.Machine(key, "a")
	w.Make(cluster, w.machine)
	w.EditStatus(w.machine, func() { w.machine.Status.NodeRef.Name = w.nodeName() })
	infra := builder.PausedMetal3Machine(w.machine)
	w.Make(infra)
	w.claim = &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec: bmov1alpha1.HostClaimSpec{PoweredOn: true, CustomDeploy: &bmov1alpha1.CustomDeploy{Method: "install"}, ConsumerRef: &corev1.ObjectReference{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: w.Namespace, Name: name, UID: infra.UID,
		}},
	}
	w.Make(w.claim)
	w.EditStatus(w.claim, func() {
		now := metav1.Now()
		w.claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"}
		for _, kind := range []string{"Associated", "Synchronized", "Provisioned"} {
			w.claim.Status.Conditions = append(w.claim.Status.Conditions,
				metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: now})
		}
		w.claim.Status.PoweredOn = true
	})
	w.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.nodeName()}}
	w.Make(w.node)
	w.run()
	return w
}

func (w *world) nodeName() string { return "node-" + w.Namespace }

// run starts a Pod with a volume on the Node.
func (w *world) run() {
	w.Make(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "app"},
		Spec: corev1.PodSpec{
			NodeName: w.nodeName(), AutomountServiceAccountToken: ptr.To(false),
			Containers: []corev1.Container{{Name: "app", Image: "app"}},
		},
	}, &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: w.nodeName()},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi", NodeName: w.nodeName(), Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv")},
		},
	})
}

// remedy makes the remediation, as a MachineHealthCheck does.
func (w *world) remedy() {
	w.remediation = &infrav1.Metal3Remediation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "a"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: w.machine.Name, UID: w.machine.UID,
			}},
		},
		Spec: infrav1.Metal3RemediationSpec{Strategy: &infrav1.RemediationStrategy{Type: "Reboot", TimeoutSeconds: int32(timeout.Seconds())}},
	}
	w.Make(w.remediation)
}

// obey plays the hostclaim manager and the server: its power follows the claim.
func (w *world) obey(g gomega.Gomega) {
	g.Expect(w.Get(w.Ctx, client.ObjectKeyFromObject(w.claim), w.claim)).To(gomega.Succeed())
	_, held := w.claim.Annotations[holdOff]
	if on := !held; on != w.claim.Status.PoweredOn {
		if !on {
			w.reboots++
		}
		w.EditStatus(w.claim, func() { w.claim.Status.PoweredOn = on })
	}
}

// play is obey, and plays Kubernetes besides: what is on a Node that is out of service leaves.
func (w *world) play(g gomega.Gomega) {
	w.obey(g)
	w.OK(w.Get(w.Ctx, client.ObjectKey{Name: w.nodeName()}, w.node))
	if w.tainted() {
		g.Expect(w.claim.Status.PoweredOn && w.claim.Annotations[holdOff] != "").To(gomega.BeFalse(), "tainted while the server runs")
		w.leave()
	}
}

// leave takes Pod and volume off the Node.
func (w *world) leave() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "app"}}
	w.OK(client.IgnoreNotFound(w.Delete(w.Ctx, pod, client.GracePeriodSeconds(0))))
	volume := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: w.nodeName()}}
	w.OK(client.IgnoreNotFound(w.Delete(w.Ctx, volume)))
}

func (w *world) tainted() bool {
	return slices.ContainsFunc(w.node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

// ready is the condition Ready of the remediation with its message.
func (w *world) ready() (condition, message string) {
	return harness.Condition(w.remediation.Status.Conditions, "Ready"), harness.Message(w.remediation.Status.Conditions, "Ready")
}

// says waits until the remediation gives the reason, while the others play their parts.
func (w *world) says(want string, play func(gomega.Gomega)) {
	w.T.Helper()
	w.G.Eventually(func(g gomega.Gomega) {
		if play != nil {
			play(g)
		}
		g.Expect(w.Find(name, w.remediation)).To(gomega.Succeed())
		condition, message := w.ready()
		g.Expect(condition).To(gomega.Equal(want), message)
	}).Should(gomega.Succeed())
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	w.clock.by.Add(int64(d))
	w.Edit(w.remediation, func() { metav1.SetMetaDataLabel(&w.remediation.ObjectMeta, "wake", w.clock.Now().Format("150405")) })
}

// ended waits until the remediation is gone, and wants server and Node to be as they were.
func (w *world) ended() {
	w.T.Helper()
	w.G.Eventually(func(g gomega.Gomega) {
		w.play(g)
		g.Expect(apierrors.IsNotFound(w.Find(name, w.remediation))).To(gomega.BeTrue())
	}).Should(gomega.Succeed())
	w.Read(w.claim)
	w.G.Expect(w.claim.Annotations).NotTo(gomega.HaveKey(holdOff))
	w.Read(w.node)
	w.G.Expect(w.tainted()).To(gomega.BeFalse())
}

// manager starts a manager with the controller alone. Its writes go through a function; nil
// lets them pass.
func (w *world) manager(c *harness.Crash) (stop func()) {
	w.T.Helper()
	options := ctrl.Options{Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.Namespace: {}}}}
	if c != nil {
		options.NewClient = c.NewClient
	}
	return server.StartManager(w.T, options, func(ctx context.Context, mgr ctrl.Manager) error { return w.setup(ctx, mgr, c) })
}

func (w *world) setup(ctx context.Context, mgr ctrl.Manager, c *harness.Crash) error {
	direct, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Scheme})
	if err != nil {
		return err
	}
	if c != nil {
		direct = c.Client(direct)
	}
	if err := hostclaims.SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := remediation.SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	return (&remediation.Reconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Claims:   hostclaims.Clients{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Local: localClaims{}},
		Local:    localClaims{},
		Remote:   noRemote{},
		Nodes:    nodes.Nodes{Cache: &workload{client: direct, cache: mgr.GetCache(), watch: map[string]bool{}}},
		Recorder: mgr.GetEventRecorder("test"),
		Metrics:  remediation.NewMetrics(prometheus.NewRegistry()),
		Clock:    &w.clock,
	}).SetupWithManager(ctx, mgr, controller.Options{})
}

// localClaims are served from the beginning.
type localClaims struct{}

func (localClaims) Available(context.Context) (bool, error) { return true, nil }

func (localClaims) Started() bool { return true }

func (localClaims) Watch(_ context.Context, c controller.Controller, sources ...source.Source) error {
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}

// noRemote has no connections to other clusters.
type noRemote struct{}

func (noRemote) Source(string, func(context.Context, types.NamespacedName) []ctrl.Request) source.Source {
	return source.Func(func(context.Context, queue) error { return nil })
}
