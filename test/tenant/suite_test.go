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

package tenant

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	tenantRole        = "hostclaim-tenant-role"
	sourceSecretsRole = "hostclaim-source-secrets"
	hostSecretsRole   = "hostclaim-host-secrets"

	// patience is how long a story waits; each step takes milliseconds, but all
	// stories share one manager and its turns.
	patience = 90 * time.Second
	// stillness is how long something is watched that must not happen.
	stillness = 500 * time.Millisecond
	// admissionDelay is how long an API server may take to heed new rules.
	admissionDelay = time.Minute
)

var (
	server harness.Server
	// mallory attacks, and alice minds her own business. Both are tenants.
	mallory, alice client.WithWatch
	hosts          *operator
)

// People by their names in certificates and bindings.
const (
	malloryName = "mallory"
	aliceName   = "alice"
)

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	gomega.SetDefaultConsistentlyDuration(stillness)
	ctrl.SetLogger(klog.Background())
	// The stories wait more than they work, so more of them run at once than there
	// are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(server.Run(staged{m}))
}

// staged runs the tests beside one manager with admission, as installed in life.
type staged struct{ tests *testing.M }

func (s staged) Run() int {
	ctx, stop := context.WithCancel(ctrl.LoggerInto(context.Background(), klog.Background()))
	defer stop()
	ended, err := start(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "set the stage: %v\n", err)
		return 1
	}
	code := s.tests.Run()
	stop()
	if err := <-ended; err != nil {
		fmt.Fprintf(os.Stderr, "hostclaim manager: %v\n", err)
		return 1
	}
	return code
}

func start(ctx context.Context) (<-chan error, error) {
	if err := createOldFaults(ctx); err != nil {
		return nil, err
	}
	webhooks, err := harness.NewWebhooks()
	if err != nil {
		return nil, err
	}
	if err := server.InstallConfig(ctx, "hostclaim/hardened", webhooks); err != nil {
		return nil, err
	}
	if mallory, err = server.User(malloryName); err != nil {
		return nil, err
	}
	if alice, err = server.User(aliceName); err != nil {
		return nil, err
	}
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	o.WebhookPort, o.WebhookCertDir, o.HealthAddress = webhooks.Port, webhooks.CertDir, "0"
	o.Serving.InsecureDiagnostics, o.Serving.DiagnosticsAddress = true, "0"
	mgr, err := setup.NewManager(ctx, server.As(harness.HostClaimAccount()), o)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if hosts, err = startOperator(ctx); err != nil {
		return nil, err
	}
	return ended, awaitAdmission(ctx)
}

// awaitAdmission waits until each rule refuses what it is there to refuse. Rules
// come into force one after the other.
func awaitAdmission(ctx context.Context) error {
	const namespace = "default"
	claim := func(change func(*bmov1alpha1.HostClaim)) client.Object {
		c := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}
		change(c)
		return c
	}
	for name, probe := range map[string]client.Object{
		"references": claim(func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = &corev1.SecretReference{Namespace: "elsewhere"} }),
		"marks": claim(func(c *bmov1alpha1.HostClaim) {
			c.Annotations = map[string]string{bmov1alpha1.DetachedAnnotation: ""}
		}),
		"selectors": claim(func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = "?" }),
		"names of policies": &bmov1alpha1.HostDeployPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
			Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: []string{"?"}}},
		},
	} {
		if err := refusedInTime(ctx, func() error { return server.Client.Create(ctx, probe, client.DryRunAll) }); err != nil {
			return fmt.Errorf("the rule on %s is not in force: %w", name, err)
		}
	}
	return awaitRulesOfChange(ctx, namespace)
}

// awaitRulesOfChange waits for the rules that look at what was there before.
func awaitRulesOfChange(ctx context.Context, namespace string) error {
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "bound", Annotations: map[string]string{"cluster.x-k8s.io/paused": ""},
	}}
	if err := server.Client.Create(ctx, claim); err != nil {
		return err
	}
	if err := pretendBound(ctx, claim); err != nil {
		return err
	}
	return refusedInTime(ctx, func() error {
		changed := claim.DeepCopy()
		changed.Spec.FailureDomain = "elsewhere"
		return server.Client.Patch(ctx, changed, client.MergeFrom(claim), client.DryRunAll)
	})
}

func refusedInTime(ctx context.Context, request func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, admissionDelay, true, func(context.Context) (bool, error) {
		last = request()
		return apierrors.IsInvalid(last) || apierrors.IsForbidden(last), nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w; the last answer was: %w", err, last)
	}
	return err
}

const (
	associated   = bmov1alpha1.AssociatedCondition
	synchronized = bmov1alpha1.SynchronizedCondition
	noHost       = "False/" + bmov1alpha1.NoBareMetalHostReason
	finalizer    = "hostclaim.metal3.io/finalizer"
	uidLabel     = "hostclaim.metal3.io/claim-uid"
	goodURL      = "https://good.example/os.raw"
)

// world is the namespace of the attacker, the namespace of the victim, and the
// one with the hosts that both may claim.
type world struct {
	harness.Story
	mallory, alice, infra string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{Story: server.NewStory(t)}
	w.mallory = server.Namespace(t, "mallory", nil)
	w.alice = server.Namespace(t, "alice", nil)
	w.infra = server.Namespace(t, "infra", nil)
	manager := harness.HostClaimAccount()
	w.OK(server.Bind(w.Ctx, manager, w.mallory, sourceSecretsRole))
	w.OK(server.Bind(w.Ctx, manager, w.alice, sourceSecretsRole))
	w.OK(server.Bind(w.Ctx, manager, w.infra, hostSecretsRole))
	w.admit(mallory, malloryName, w.mallory)
	w.admit(alice, aliceName, w.alice)
	return w
}

// newPool is a world whose policy admits both tenants, with hosts that are free.
func newPool(t *testing.T, annotations map[string]string, names ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.policy(annotations)
	for _, name := range names {
		w.host(name)
	}
	return w
}

// newPoolWithHost is the same with one host, which it returns.
func newPoolWithHost(t *testing.T, annotations map[string]string) (*world, client.ObjectKey) {
	t.Helper()
	w := newPool(t, annotations)
	return w, w.host("host-0")
}

// admit gives a user the role of a tenant in a namespace.
func (w *world) admit(who client.Client, user, namespace string) {
	w.T.Helper()
	w.OK(server.Client.Create(w.Ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenants"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: tenantRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	w.G.Eventually(func() error {
		return who.List(w.Ctx, &bmov1alpha1.HostClaimList{}, client.InNamespace(namespace))
	}).Should(gomega.Succeed(), "the role of "+user)
}

// forbidden expects that the API server refuses a request.
func (w *world) forbidden(err error) {
	w.T.Helper()
	expect.That(w.T, apierrors.IsForbidden(err), "answered with %v, want Forbidden", err)
}

// refused expects that a rule of admission does not let something in, with all
// parts of its explanation.
func (w *world) refused(err error, parts ...string) {
	w.T.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		w.T.Errorf("answered with %v, want a refusal", err)
		return
	}
	for _, part := range parts {
		w.G.Expect(err.Error()).To(gomega.ContainSubstring(part))
	}
}

// host makes a host that is free.
func (w *world) host(name string, changes ...func(*bmov1alpha1.BareMetalHost)) client.ObjectKey {
	w.T.Helper()
	host := builder.FreeHost(client.ObjectKey{Namespace: w.infra, Name: name})
	for _, change := range changes {
		change(host)
	}
	status := host.Status
	w.OK(server.Client.Create(w.Ctx, host))
	w.SetStatus(host, status)
	return client.ObjectKeyFromObject(host)
}

// policy admits both tenants.
func (w *world) policy(annotations map[string]string) {
	w.T.Helper()
	policy := builder.Policy(client.ObjectKey{Namespace: w.infra, Name: "policy"}, w.mallory, w.alice)
	policy.Annotations = annotations
	w.Make(policy)
}

// attack makes a claim of mallory's, and defend one of alice's.
func (w *world) attack(name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.T.Helper()
	claim := builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: name}, changes...)
	w.OK(mallory.Create(w.Ctx, claim))
	return claim
}

func (w *world) defend(name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.T.Helper()
	claim := builder.Claim(client.ObjectKey{Namespace: w.alice, Name: name}, changes...)
	w.OK(alice.Create(w.Ctx, claim))
	return claim
}

// withImage asks for an image and, unless it is empty, user data of a secret.
func withImage(url, userData string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: url, Checksum: "abc123"}
		if userData != "" {
			c.Spec.UserData = &corev1.SecretReference{Name: userData}
		}
	}
}

func (w *world) readHost(key client.ObjectKey) *bmov1alpha1.BareMetalHost {
	w.T.Helper()
	host := &bmov1alpha1.BareMetalHost{}
	w.OK(server.Client.Get(w.Ctx, key, host))
	return host
}

// change patches an object as a user, after a function changed it as it is now.
func change[T client.Object](w *world, who client.Client, o T, edit func(T), options ...client.PatchOption) error {
	w.T.Helper()
	w.Read(o)
	before, _ := o.DeepCopyObject().(client.Object)
	edit(o)
	return who.Patch(w.Ctx, o, client.MergeFrom(before), options...)
}

// end deletes a claim, and waits until it is gone.
func (w *world) end(who client.Client, claim *bmov1alpha1.HostClaim) {
	w.T.Helper()
	w.OK(who.Delete(w.Ctx, claim))
	w.AwaitGone(claim)
}

// expect waits until a condition of a claim is as given, whose message then has the parts.
func (w *world) expect(claim *bmov1alpha1.HostClaim, kind, want string, parts ...string) {
	w.T.Helper()
	w.G.Eventually(func() string {
		w.Read(claim)
		return harness.Condition(claim.Status.Conditions, kind)
	}).Should(gomega.Equal(want), claim.Name+": "+kind)
	for _, part := range parts {
		w.G.Expect(harness.Message(claim.Status.Conditions, kind)).To(gomega.ContainSubstring(part))
	}
}

// bound waits until a claim has its host.
func (w *world) bound(claim *bmov1alpha1.HostClaim) client.ObjectKey {
	w.T.Helper()
	w.expect(claim, associated, "True/"+bmov1alpha1.BareMetalHostAssociatedReason)
	key := client.ObjectKey{Namespace: claim.Status.BareMetalHost.Namespace, Name: claim.Status.BareMetalHost.Name}
	w.ownedBy(key, claim)
	return key
}

// ready waits until the server of a claim runs.
func (w *world) ready(claim *bmov1alpha1.HostClaim) client.ObjectKey {
	w.T.Helper()
	w.expect(claim, "Ready", "True/Provisioned")
	return w.bound(claim)
}

// ownedBy expects that a host names a claim.
func (w *world) ownedBy(host client.ObjectKey, claim *bmov1alpha1.HostClaim) {
	w.T.Helper()
	w.G.Expect(w.readHost(host).Spec.ConsumerRef).To(gomega.HaveValue(gomega.Equal(corev1.ObjectReference{
		APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	})))
}

// free expects that a host stays free.
func (w *world) free(host client.ObjectKey) {
	w.T.Helper()
	w.G.Consistently(func() *corev1.ObjectReference { return w.readHost(host).Spec.ConsumerRef }).Should(gomega.BeNil())
}

// untold expects that hosts have no payload.
func (w *world) untold(keys ...client.ObjectKey) {
	w.T.Helper()
	w.G.Consistently(func(g gomega.Gomega) {
		for _, key := range keys {
			spec := w.readHost(key).Spec
			g.Expect(spec.Image).To(gomega.BeNil())
			g.Expect(spec.CustomDeploy).To(gomega.BeNil())
			g.Expect(spec.UserData).To(gomega.BeNil())
			g.Expect(spec.NetworkData).To(gomega.BeNil())
			g.Expect(hosts.booted(key)).To(gomega.BeEmpty())
		}
	}).Should(gomega.Succeed())
}

// copies are the secrets next to the hosts that were copied there, by name.
func (w *world) copies() map[string]string {
	w.T.Helper()
	list := &corev1.SecretList{}
	w.OK(server.Client.List(w.Ctx, list, client.InNamespace(w.infra), client.HasLabels{uidLabel}))
	found := map[string]string{}
	for _, secret := range list.Items {
		for _, value := range secret.Data {
			found[secret.Name] += string(value)
		}
	}
	return found
}

// pretendBound gives a claim the status of one that has its host.
func pretendBound(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	before := claim.DeepCopy()
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: associated, Status: metav1.ConditionTrue, Reason: bmov1alpha1.BareMetalHostAssociatedReason,
	})
	return server.Client.Status().Patch(ctx, claim, client.MergeFrom(before))
}
