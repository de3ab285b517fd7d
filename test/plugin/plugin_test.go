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

package plugin

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/cmd/kubectl-metal3/commands"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/capm3"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

var server harness.Server

func TestMain(m *testing.M) {
	os.Exit(server.Run(m))
}

// place is a tenant's namespace with a Cluster of one machine, and one with its host.
type place struct {
	tenant, infra, kubeconfig string
}

// newPlace makes a machine whose claim has a host that is in error.
func newPlace(t *testing.T) place {
	t.Helper()
	p := place{tenant: server.Namespace(t, "tenant", nil), infra: server.Namespace(t, "infra", nil)}
	p.kubeconfig = kubeconfig(t, p)
	key := types.NamespacedName{Namespace: p.tenant, Name: "demo"}
	cluster := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.tenant, Name: "demo"}}
	cluster.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Ready", "")}
	machine := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.tenant, Name: "demo"}}
	machine.Spec.CustomDeploy = &infrav1.CustomDeploy{Method: "install"}
	machine.Status.HostClaim = &infrav1.Metal3ObjectRef{Namespace: p.tenant, Name: "demo"}
	machine.Status.Conditions = []metav1.Condition{condition("HostClaimReady", "False", "Provisioning", "repeated"), condition("Ready", "False", "Provisioning", "repeated")}
	server.Create(t, builder.Cluster(key), cluster, builder.Machine(key, "demo"), machine, newClaim(p.tenant, p.infra))
	host := builder.FreeHost(types.NamespacedName{Namespace: p.infra, Name: "host"})
	host.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "HostClaim", Namespace: p.tenant, Name: "demo"}
	host.Status.Provisioning.State, host.Status.ErrorMessage = bmov1alpha1.StateProvisioning, "no such image"
	host.Status.ErrorType, host.Status.OperationalStatus = bmov1alpha1.ProvisioningError, bmov1alpha1.OperationalStatusError
	server.Create(t, host)
	return p
}

func newClaim(namespace, infra string) *bmov1alpha1.HostClaim {
	claim := builder.Claim(types.NamespacedName{Namespace: namespace, Name: "demo"})
	claim.Labels = map[string]string{clusterv1.ClusterNameLabel: "demo"}
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: infra, Name: "host"}
	claim.Status.Conditions = []metav1.Condition{
		condition("Associated", "True", "BareMetalHostAssociated", ""), condition("Provisioned", "False", "Provisioning", ""), condition("Ready", "False", "Error", "The host is in error"),
	}
	return claim
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
}

// kubeconfig writes one of the administrator, with the contexts of both namespaces.
func kubeconfig(t *testing.T, p place) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: server.Config.CertData, ClientKeyData: server.Config.KeyData}
	config.Contexts["tenant"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: p.tenant}
	config.Contexts["infra"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: p.infra}
	config.CurrentContext = "tenant"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a command, and fails the test if the command fails.
func (p place) run(t *testing.T, args ...string) (out, errors string) {
	t.Helper()
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	if err := p.command(t, streams, args).ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, stderr)
	}
	return p.plain(stdout), p.plain(stderr)
}

// try runs a command that may fail.
func (p place) try(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	streams, _, stdout, _ := genericiooptions.NewTestIOStreams()
	err = p.command(t, streams, args).ExecuteContext(t.Context())
	return stdout.String(), err
}

func (p place) command(t *testing.T, streams genericiooptions.IOStreams, args []string) *cobra.Command {
	t.Helper()
	cmd := commands.New(streams)
	cmd.SetArgs(append(args, "--kubeconfig", p.kubeconfig, "--cache-dir", t.TempDir()))
	return cmd
}

// plain replaces the names of the namespaces, and what stands between cells, by something stable.
func (p place) plain(text *bytes.Buffer) string {
	s := strings.NewReplacer(p.tenant, "TENANT", p.infra, "INFRA").Replace(text.String())
	return regexp.MustCompile(`(\S) {2,}`).ReplaceAllString(s, "$1 | ")
}

func expect(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tests := map[string]struct {
		args []string
		want []string
	}{
		"tree":        {args: []string{"tree", "demo"}, want: []string{"Cluster TENANT/demo", "├─Metal3Cluster TENANT/demo", "└─Machine TENANT/demo", "└─Metal3Machine TENANT/demo | False | Provisioning", "└─HostClaim TENANT/demo | False | Error", "└─BareMetalHost INFRA/host | False | provisioning error"}},
		"why machine": {args: []string{"why", "machine/demo"}, want: []string{"Cause: | BareMetalHost INFRA/host\n", "Condition: errorMessage, provisioning error\n", "Message: | no such image\n", "kubectl describe baremetalhost host -n INFRA\n"}},
		"why cluster": {args: []string{"why", "clusters.cluster.x-k8s.io", "demo"}, want: []string{"Machine TENANT/demo", "Cause: | BareMetalHost INFRA/host\n"}},
		"why claim":   {args: []string{"why", "hc/demo"}, want: []string{"HostClaim TENANT/demo | False | Error", "Cause: | BareMetalHost INFRA/host\n"}},
		"why host":    {args: []string{"why", "bmh/host", "--context", "infra"}, want: []string{"Message: | no such image\n"}},
		"machine":     {args: []string{"machine", "demo"}, want: []string{"STATION | AT | TOOK", "Machine created | 2", "Host bound | 2", "Image written | -", "Cause: | BareMetalHost INFRA/host\n"}},
		"claims":      {args: []string{"claims", "--waiting", "-o", "wide"}, want: []string{"TENANT | demo | demo | INFRA/host | Provisioning | False | Error", "The host is in error"}},
		"pool":        {args: []string{"pool", "-n", p.infra}, want: []string{"NAMESPACE | STATE | USE | HOSTS", "INFRA | provisioning | in use | 1"}},
		"by tenant":   {args: []string{"pool", "-n", p.infra, "--by", "tenant"}, want: []string{"INFRA | TENANT | provisioning | - | 1"}},
		"by host":     {args: []string{"pool", "-A", "--by", "host", "-o", "wide"}, want: []string{"INFRA | host | provisioning | in use | TENANT | demo | no such image"}},
		"YAML":        {args: []string{"claims", "-o", "yaml"}, want: []string{"apiVersion: kubectl.metal3.io/v1alpha1", "kind: Claims", "host: INFRA/host"}},
		"JSONPath":    {args: []string{"pool", "-n", p.infra, "-o", "jsonpath={.items[0].state}"}, want: []string{"provisioning"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _ := p.run(t, c.args...)
			expect(t, out, c.want...)
		})
	}
}

// TestFewRights has a caller who may read the machines of one namespace, and neither hosts nor other namespaces.
func TestFewRights(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	read := []string{"get", "list"}
	server.Create(t,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: p.tenant, Name: "reader"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{clusterv1.GroupVersion.Group}, Resources: []string{"clusters", "machines"}, Verbs: read},
			{APIGroups: []string{infrav1.GroupName}, Resources: []string{"metal3machines"}, Verbs: read},
			{APIGroups: []string{bmov1alpha1.GroupVersion.Group}, Resources: []string{"hostclaims"}, Verbs: read},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.tenant, Name: "reader"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: p.tenant}},
		})
	as := func(args ...string) []string { return append(args, "--as", p.tenant) }
	out, _ := p.run(t, as("tree", "demo", "-o", "wide")...)
	expect(t, out, "Metal3Cluster TENANT/demo | - | not read", "HostClaim TENANT/demo | False | Error", "BareMetalHost INFRA/host | - | not read", "cannot get resource \"baremetalhosts\"")
	out, _ = p.run(t, as("why", "machine/demo")...)
	expect(t, out, "Cause: | HostClaim TENANT/demo\n", "Not read: | BareMetalHost INFRA/host: ")
	out, errors := p.run(t, as("pool", "-n", p.infra)...)
	if out != "" {
		t.Errorf("hosts that may not be read: %s", out)
	}
	expect(t, errors, "BareMetalHost not read: ", "forbidden")
	out, _ = p.run(t, as("claims", "-A", "-o", "json")...)
	var claims struct {
		Unread []struct{ Kind, Unread string }
	}
	if err := json.Unmarshal([]byte(out), &claims); err != nil || len(claims.Unread) != 1 || claims.Unread[0].Kind != "HostClaim" {
		t.Errorf("claims as JSON: %v in %s", err, out)
	}
}

// TestHostsInAnotherCluster has the claim in a namespace that stands for the cluster of an identityRef.
func TestHostsInAnotherCluster(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	machine := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.tenant, Name: "demo"}}
	story := server.NewStory(t)
	story.Edit(machine, func() { machine.Annotations = map[string]string{infrav1.EffectiveIdentityAnnotation: "{}"} })
	story.EditStatus(machine, func() { machine.Status.HostClaim.Namespace = p.infra })
	server.Create(t, newClaim(p.infra, p.infra))
	out, _ := p.run(t, "why", "machine/demo")
	expect(t, out, "Cause: | Metal3Machine TENANT/demo\n", "Message: | repeated\n", "Not read: | HostClaim INFRA/demo: in the cluster of the identityRef: give --hosts-kubeconfig")
	out, _ = p.run(t, "why", "machine/demo", "--hosts-context", "infra")
	expect(t, out, "HostClaim INFRA/demo | False | Error", "Cause: | BareMetalHost INFRA/host\n")
	out, _ = p.run(t, "claims", "--hosts-kubeconfig", p.kubeconfig, "--hosts-context", "infra")
	expect(t, out, "INFRA | demo | demo | INFRA/host")
}

// TestPreflight previews a cluster that a real CAPM3 ran.
func TestPreflight(t *testing.T) {
	t.Parallel()
	p := place{tenant: server.Namespace(t, "capm3", nil), infra: "nowhere"}
	p.kubeconfig = kubeconfig(t, p)
	err := capm3.Load(t.Context(), server.Client, capm3.Running, p.tenant,
		"KubeadmControlPlane", "KubeadmConfig", "KubeadmConfigTemplate", "MachineDeployment", "MachineSet")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := p.run(t, "preflight")
	expect(t, out, "NAMESPACE | CLUSTER | MACHINE | HOST | VERDICT | REASON", "TENANT | c1 | c1-pnr74 | server-4 | taken over | -",
		"OBJECT | FIELD | HERE", "Metal3MachineTemplate TENANT/c1-workers | spec.template.spec | a change is refused")
	story, host := server.NewStory(t), &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: p.tenant, Name: "server-4"}}
	story.Edit(host, func() { host.Annotations = map[string]string{bmov1alpha1.PausedAnnotation: ""} })
	out, err = p.try(t, "preflight", "c1", "-A", "-o", "json")
	var found struct {
		Machines []struct{ Machine, Verdict, Reason string }
		Refused  int
	}
	if decoded := json.Unmarshal([]byte(out), &found); decoded != nil || found.Refused != 1 || len(found.Machines) != 4 {
		t.Errorf("preview as JSON: %v in %s", decoded, out)
	}
	fails(t, err, "1 of 4 machines would not be taken over")
	_, err = p.try(t, "preflight", "c2")
	fails(t, err, `there is no Cluster "c2"`)
	_, err = p.try(t, "preflight", "--as", "nobody")
	fails(t, err, "not all could be read")
	_, err = p.try(t, "give-back", "c2")
	fails(t, err, `"c2" not found`)
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.tenant, Name: "c1"}}
	out, err = p.try(t, "give-back", "c1")
	if err != nil {
		t.Errorf("machines that no claim has are as CAPM3 left them: %v\n%s", err, out)
	}
	story.Edit(cluster, func() { cluster.Spec.Paused = new(false) })
	_, err = p.try(t, "give-back", "c1")
	fails(t, err, "set spec.paused to true")
}

func fails(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error %v, want one with %q", err, part)
	}
}
