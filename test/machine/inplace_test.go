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

package machine

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// extension is where the manager of the suite serves Cluster API's hooks.
type extension struct {
	envtest.WebhookInstallOptions
}

// hooks are those of the suite.
var hooks extension

// inPlaceRole is what config/in-place-updates adds to the rights of the manager.
const inPlaceRole = "capm3-in-place-updates"

// prepare makes port and certificate, and installs the kind that bootstrap data is made from and
// the role that the extension needs.
func (e *extension) prepare(ctx context.Context) error {
	if err := e.PrepWithoutInstalling(); err != nil {
		return fmt.Errorf("certificate for the hooks: %w", err)
	}
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	found, err := components.Lookup(components.ClusterAPI)
	if err != nil {
		return err
	}
	source, err := repo.Source(ctx, found[0])
	if err != nil {
		return err
	}
	crd := filepath.Join(source, "bootstrap", "kubeadm", "config", "crd", "bases", "bootstrap.cluster.x-k8s.io_kubeadmconfigs.yaml")
	if _, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{Paths: []string{crd}, ErrorIfPathMissing: true}); err != nil {
		return err
	}
	text, err := os.ReadFile(repo.Path("config", "in-place-updates", "component", "role.yaml"))
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(text, role); err != nil {
		return err
	}
	return server.Client.Create(ctx, role)
}

// updates calls UpdateMachine as Cluster API does.
func (tn *tenant) updates(g gomega.Gomega) *runtimehooksv1.UpdateMachineResponse {
	body, err := json.Marshal(&runtimehooksv1.UpdateMachineRequest{Desired: runtimehooksv1.UpdateMachineRequestObjects{
		Machine: clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: machineName}},
	}})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	url := fmt.Sprintf("https://%s:%d/hooks.runtime.cluster.x-k8s.io/v1alpha1/updatemachine/update-machine",
		hooks.LocalServingHost, hooks.LocalServingPort)
	request, err := http.NewRequestWithContext(tn.Ctx, http.MethodPost, url, bytes.NewReader(body))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(hooks.LocalServingCAData)
	answer, err := (&http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}).Do(request)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	defer answer.Body.Close()
	response := &runtimehooksv1.UpdateMachineResponse{}
	g.Expect(json.NewDecoder(answer.Body).Decode(response)).To(gomega.Succeed())
	return response
}

// TestClusterAPIUpdatesAMachineInPlace plays Cluster API and kubeadm's bootstrap provider around
// an update: the manager serves the hook with its own rights and certificate, and the machine
// controller has the server written anew.
func TestClusterAPIUpdatesAMachineInPlace(t *testing.T) { hereAndThere(t, (*tenant).updatesInPlace) }

func (tn *tenant) updatesInPlace(holder *tenant, change ...func(*infrav1.Metal3Machine)) {
	tn.makeBootstrap("value", "#cloud-config 1")
	tn.cluster()
	tn.machine(change...)
	claim := holder.only()
	m := tn.runs(holder)
	config := tn.joins()
	tn.chosen(m, config)

	refused := tn.updates(tn.G)
	tn.G.Expect(refused.Status).To(gomega.Equal(runtimehooksv1.ResponseStatusFailure), "no right to KubeadmConfigs yet")
	tn.G.Expect(server.Bind(tn.Ctx, harness.ProviderAccount(), tn.Namespace, inPlaceRole)).To(gomega.Succeed())
	tn.G.Eventually(func(g gomega.Gomega) {
		response := tn.updates(g)
		g.Expect(response.Status).To(gomega.Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
		g.Expect(response.RetryAfterSeconds).To(gomega.BeNumerically(">", 0))
	}).Should(gomega.Succeed())
	owner := find(tn, machineName, &clusterv1.Machine{})
	tn.G.Expect(owner.Spec.Bootstrap.DataSecretName).To(gomega.BeNil())
	holder.Await(holder.Named(holder.claim, claim), func(g gomega.Gomega) {
		g.Expect(claim.Spec.Image.URL).To(gomega.HaveSuffix("/next.qcow2"))
		g.Expect(claim.Spec.PoweredOn).To(gomega.BeFalse())
	})

	holder.emptied()
	tn.waits("HostClaimReady", "WaitingForBootstrapData", "The server is empty")
	tn.G.Expect(tn.updates(tn.G).Message).To(gomega.ContainSubstring("The server is empty"))
	tn.Await(tn.Named(machineName, config), func(g gomega.Gomega) {
		g.Expect(config.Annotations).NotTo(gomega.HaveKey(clusterv1.PausedAnnotation))
		g.Expect(config.Spec.JoinConfiguration.Discovery.BootstrapToken.Token).To(gomega.BeEmpty())
	})
	secret := &corev1.Secret{}
	tn.Edit(tn.Named(bootSecret, secret), func() { secret.Data = map[string][]byte{"value": []byte("#cloud-config 2")} })
	tn.EditStatus(tn.Named(machineName, config), func() { config.Status = made() })
	tn.Edit(tn.Named(machineName, owner), func() { owner.Spec.Bootstrap.DataSecretName = ptr.To(bootSecret) })

	holder.Await(holder.Named(holder.claim, claim), func(g gomega.Gomega) { g.Expect(claim.Spec.PoweredOn).To(gomega.BeTrue()) })
	holder.G.Expect(holder.Find(claim.Spec.UserData.Name, secret)).To(gomega.Succeed())
	holder.G.Expect(secret.Data).To(gomega.ContainElement([]byte("#cloud-config 2")))
	tn.G.Expect(tn.updates(tn.G).RetryAfterSeconds).To(gomega.BeNumerically(">", 0), "the image is not written yet")
	holder.provision()
	tn.G.Eventually(func(g gomega.Gomega) {
		response := tn.updates(g)
		g.Expect(response.Status).To(gomega.Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
		g.Expect(response.RetryAfterSeconds).To(gomega.BeZero(), response.Message)
	}).Should(gomega.Succeed())
	before := m.Spec.ProviderID
	tn.G.Expect(tn.provisioned().Spec.ProviderID).To(gomega.Equal(before))
	tn.G.Expect(holder.only().UID).To(gomega.Equal(claim.UID))
}

// made is the status of a KubeadmConfig whose data is in the Secret of the machine.
func made() bootstrapv1.KubeadmConfigStatus {
	return bootstrapv1.KubeadmConfigStatus{
		Initialization: bootstrapv1.KubeadmConfigInitializationStatus{DataSecretCreated: ptr.To(true)},
		DataSecretName: bootSecret,
	}
}

// joins makes the KubeadmConfig that the machine has joined with.
func (tn *tenant) joins() *bootstrapv1.KubeadmConfig {
	owner := &clusterv1.Machine{}
	tn.OK(tn.Get(tn.Ctx, client.ObjectKeyFromObject(tn.Named(machineName, owner)), owner))
	config := &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{Name: machineName, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Machine")),
	}}}
	config.Spec.JoinConfiguration.Discovery.BootstrapToken = bootstrapv1.BootstrapTokenDiscovery{Token: "abcdef.0123456789abcdef"}
	tn.Add(config)
	tn.EditStatus(tn.Named(machineName, config), func() { config.Status = made() })
	return config
}

// chosen has Cluster API begin an update in place, with another image.
func (tn *tenant) chosen(m *infrav1.Metal3Machine, config *bootstrapv1.KubeadmConfig) {
	owner := &clusterv1.Machine{}
	mark := func(o client.Object) {
		annotations := map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
		maps.Copy(annotations, o.GetAnnotations())
		o.SetAnnotations(annotations)
	}
	tn.Edit(tn.Named(machineName, m), func() { mark(m); m.Spec.Image.URL = "http://images.example/next.qcow2" })
	tn.Edit(tn.Named(machineName, config), func() { mark(config) })
	tn.Edit(tn.Named(machineName, owner), func() {
		mark(owner)
		owner.Annotations["runtime.cluster.x-k8s.io/pending-hooks"] = "UpdateMachine"
	})
}
