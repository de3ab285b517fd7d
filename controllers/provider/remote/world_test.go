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

package remote_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const (
	// timeout is how long a test waits for what takes milliseconds, or, where an API
	// server has to forget a token, some ten seconds.
	timeout = time.Minute

	machineKind = "Metal3Machine"
)

// server plays both parts: the cluster of the tenants, in which Secrets with
// kubeconfigs lie, and the one with the hosts, to which they lead.
var server apitest.Server

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	os.Exit(server.Run(m))
}

// world is a registry, asked as a controller would.
type world struct {
	*remote.Registry

	tenant string                    // namespace of Secrets and machines
	woken  chan types.NamespacedName // what the controller of machines was woken for
	values *prometheus.Registry
	log    *lines
}

// newWorld starts a registry that reads Secrets as the administrator.
func newWorld(t *testing.T, change ...func(*remote.Options)) *world {
	t.Helper()
	w := &world{tenant: server.Namespace(t), woken: make(chan types.NamespacedName, 1000), values: prometheus.NewRegistry(), log: &lines{}}
	options := remote.Options{
		Live: server.Client, Secrets: secretsFor(t, server.Config), Metrics: w.values, UserAgent: "test",
		RequestTimeout: 2 * time.Second, MaxConnections: 10, ConnectionMemory: 64 << 20, Memory: 256 << 20,
	}
	for _, c := range change {
		c(&options)
	}
	var err error
	if w.Registry, err = remote.New(options); err != nil {
		t.Fatal(err)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(queue.ShutDown)
	source := w.Source(machineKind, func(_ context.Context, user types.NamespacedName) []ctrl.Request {
		w.woken <- user
		return nil
	})
	expect.NoError(t, source.Start(t.Context(), queue))
	run(t, options.Secrets.Start)
	run(t, func(ctx context.Context) error {
		return w.Start(ctrl.LoggerInto(ctx, funcr.New(w.log.add, funcr.Options{})))
	})
	return w
}

func secretsFor(t *testing.T, config *rest.Config) *secretwatch.Watch {
	t.Helper()
	secrets, err := secretwatch.NewForConfig(config)
	expect.NoError(t, err)
	return secrets
}

// asUser has the registry read Secrets as a user without rights.
func asUser(t *testing.T, name string) func(*remote.Options) {
	t.Helper()
	config := rest.CopyConfig(server.Config)
	config.Impersonate.UserName = name
	live, err := client.New(config, client.Options{Scheme: server.Client.Scheme()})
	expect.NoError(t, err)
	return func(o *remote.Options) { o.Live, o.Secrets = live, secretsFor(t, config) }
}

// permitSecrets gives a user the rights of the provider on the Secrets of the tenant.
func (w *world) permitSecrets(t *testing.T, user string) {
	t.Helper()
	named := metav1.ObjectMeta{Namespace: w.tenant, Name: "secrets"}
	server.Create(t,
		&rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
}

// run keeps something going until the test ends.
func run(t *testing.T, start func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	t.Cleanup(func() {
		cancel()
		expect.NoError(t, <-ended)
	})
}

// machine is a user of the world's tenant.
func (w *world) machine(name string) remote.User {
	return remote.User{Kind: machineKind, NamespacedName: types.NamespacedName{Namespace: w.tenant, Name: name}}
}

func (w *world) ref(secret string) identity.Ref {
	return identity.Ref{Namespace: w.tenant, Secret: secret}
}

// site asks until there is a site, as often as the user is woken.
func (w *world) site(t *testing.T, user remote.User, ref identity.Ref) remote.Site {
	t.Helper()
	return wait(t, w, func() (remote.Site, bool) {
		site, err := w.Site(user, ref)
		if err != nil {
			t.Logf("%s: %v", user.Name, err)
		}
		return site, err == nil
	})
}

// problem asks until there is a problem of a reason, as often as the user is woken.
func (w *world) problem(t *testing.T, user remote.User, ref identity.Ref, reason string) string {
	t.Helper()
	return wait(t, w, func() (string, bool) {
		_, problem := w.Site(user, ref)
		if problem == nil {
			return "", false
		}
		if strings.Contains(problem.Message, "%!") {
			t.Errorf("the text wants other arguments: %s", problem.Message)
		}
		return problem.Message, problem.Reason == reason
	})
}

// wait tries anew whenever a machine is woken.
func wait[T any](t *testing.T, w *world, try func() (T, bool)) T {
	t.Helper()
	late := time.After(timeout)
	for {
		if got, ok := try(); ok {
			return got
		}
		select {
		case <-w.woken:
		case <-late:
			t.Fatal("no machine was woken for what the test waits for")
		}
	}
}

// forget takes back what the controller was woken for so far.
func (w *world) forget() {
	for {
		select {
		case <-w.woken:
		default:
			return
		}
	}
}

// gauge gives the values of a metric with one label, by that label.
func (w *world) gauge(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := w.values.Gather()
	expect.NoError(t, err)
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

// eventually waits for what wakes no machine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(timeout)
	for !ok() {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("it does not come about that %s", what)
		}
	}
}

// hosts is a namespace of the other cluster with a service account in it.
type hosts struct {
	namespace string
	account   *corev1.ServiceAccount
}

// rules are the rights that a tenant needs there.
func rules() []rbacv1.PolicyRule {
	all := []string{"get", "list", "watch", "create", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"metal3.io"}, Resources: []string{"hostclaims"}, Verbs: all},
		{APIGroups: []string{"metal3.io"}, Resources: []string{"hardwaredata"}, Verbs: all[:3]},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: all},
	}
}

func newHosts(t *testing.T, rules []rbacv1.PolicyRule) hosts {
	t.Helper()
	namespace := server.Namespace(t)
	named := metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}
	h := hosts{namespace: namespace, account: &corev1.ServiceAccount{ObjectMeta: named}}
	server.Create(t, h.account,
		&rbacv1.Role{ObjectMeta: named, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: named,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: named.Name}},
		})
	return h
}

type rule = rbacv1.PolicyRule

// setRules changes what the account may do.
func (h hosts) setRules(t *testing.T, rules []rule) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "tenant"}}
	before := role.DeepCopy()
	role.Rules = rules
	expect.NoError(t, server.Client.Patch(t.Context(), role, client.MergeFrom(before)))
}

// token is a new token of the account, which the server forgets with the Secret of
// that name.
func (h hosts) token(t *testing.T, bound string) string {
	t.Helper()
	holder := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: bound}}
	server.Create(t, holder)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: bound, UID: holder.UID},
	}}
	expect.NoError(t, server.Client.SubResource("token").Create(t.Context(), h.account, request))
	return request.Status.Token
}

// kubeconfig leads to the namespace with a token. It is changed before it is written.
func (h hosts) kubeconfig(t *testing.T, token string, change ...func(*clientcmdapi.Config)) []byte {
	t.Helper()
	config := clientcmdapi.Config{
		CurrentContext: "hosts",
		Contexts:       map[string]*clientcmdapi.Context{"hosts": {Cluster: "infra", AuthInfo: "tenant", Namespace: h.namespace}},
		Clusters: map[string]*clientcmdapi.Cluster{"infra": {
			Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"tenant": {Token: token}},
	}
	for _, c := range change {
		c(&config)
	}
	text, err := clientcmd.Write(config)
	expect.NoError(t, err)
	return text
}

// secret puts a kubeconfig into a Secret of the tenant, new or there before.
func (w *world) secret(t *testing.T, name string, kubeconfig []byte) {
	t.Helper()
	w.secretOf(t, name, map[string][]byte{"kubeconfig": kubeconfig})
}

func (w *world) secretOf(t *testing.T, name string, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: name}}
	found := server.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret) == nil
	before := secret.DeepCopy()
	secret.Data = data
	if !found {
		server.Create(t, secret)
		return
	}
	expect.NoError(t, server.Client.Patch(t.Context(), secret, client.MergeFrom(before)))
}

// claim is a claim in the other cluster with an origin, or without.
func (h hosts) claim(name, origin string) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}}
	if origin != "" {
		claim.Labels = map[string]string{infrav1.OriginKey: origin}
	}
	return claim
}

// counter gives the value of a metric without labels.
func (w *world) counter(t *testing.T, name string) float64 {
	t.Helper()
	families, err := w.values.Gather()
	expect.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}
