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

package standalone

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

const (
	// timeout is how long a test waits; each step takes milliseconds.
	timeout = time.Minute

	imageURL = "https://images.example.com/debian-13.raw"
)

var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(timeout)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	gomega.SetDefaultConsistentlyDuration(500 * time.Millisecond)
	ctrl.SetLogger(klog.Background())
	os.Exit(server.Run(m))
}

// room is a namespace with servers, played by a simulator that sees only these.
type room struct {
	harness.Story
	infra     string
	simulator *host.Simulator
}

func newRoom(t *testing.T) *room {
	t.Helper()
	t.Parallel()
	r := &room{Story: server.NewStory(t), infra: server.Namespace(t, "infra", nil)}
	delays, err := life.ParseDelays("all=10ms,soft-off=50ms,retry=200ms")
	r.OK(err)
	r.simulator = host.New(delays)
	server.StartManager(t, ctrl.Options{Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{r.infra: {}}}},
		func(_ context.Context, mgr ctrl.Manager) error { return r.simulator.SetupWithManager(mgr) })
	return r
}

// register brings a server under management.
func (r *room) register(name string, changes ...func(*bmov1alpha1.BareMetalHost)) {
	r.T.Helper()
	h := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.infra, Name: name},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BMC:                   bmov1alpha1.BMCDetails{Address: "redfish-virtualmedia://192.0.2.7/redfish/v1/Systems/1", CredentialsName: name + "-bmc"},
			BootMACAddress:        "02:00:00:00:00:01",
			AutomatedCleaningMode: bmov1alpha1.CleaningModeMetadata,
		},
	}
	for _, change := range changes {
		change(h)
	}
	r.OK(r.Create(r.Ctx, h))
}

func (r *room) host(name string) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{}
	r.OK(r.Get(r.Ctx, client.ObjectKey{Namespace: r.infra, Name: name}, h))
	return h
}

// server is the machine behind a host.
func (r *room) server(name string) life.Server {
	s, found := r.simulator.Server(client.ObjectKey{Namespace: r.infra, Name: name})
	r.G.Expect(found).To(gomega.BeTrue(), "the simulator has not seen host %s", name)
	return s
}

func (r *room) edit(name string, edit func(*bmov1alpha1.BareMetalHost)) {
	r.T.Helper()
	harness.Change(r.Story, r.host(name), edit)
}

// expect waits for a state and a power state of a host.
func (r *room) expect(name string, state bmov1alpha1.ProvisioningState, poweredOn bool) *bmov1alpha1.BareMetalHost {
	r.T.Helper()
	type look struct {
		State     bmov1alpha1.ProvisioningState
		PoweredOn bool
	}
	var h *bmov1alpha1.BareMetalHost
	r.G.Eventually(func() look {
		h = r.host(name)
		return look{h.Status.Provisioning.State, h.Status.PoweredOn}
	}).Should(gomega.Equal(look{state, poweredOn}))
	return h
}

// save brings a manifest of a claim to the API server as one command of kubectl
// does.
type save func(e *team, manifest *bmov1alpha1.HostClaim) error

// write changes the manifest of a claim and saves it.
func (e *team) write(name string, edit func(*bmov1alpha1.HostClaim)) {
	e.T.Helper()
	manifest, found := e.manifests[name]
	if !found {
		manifest = &bmov1alpha1.HostClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim"},
			ObjectMeta: metav1.ObjectMeta{Namespace: e.tenant, Name: name},
		}
		e.manifests[name] = manifest
	}
	edit(manifest)
	e.OK(e.save(e, manifest.DeepCopy()))
}

// create creates a claim, or patches the one that exists.
func create(e *team, manifest *bmov1alpha1.HostClaim) error {
	current := &bmov1alpha1.HostClaim{}
	err := e.Get(e.T.Context(), client.ObjectKeyFromObject(manifest), current)
	if apierrors.IsNotFound(err) {
		return e.Create(e.T.Context(), manifest)
	}
	if err != nil {
		return err
	}
	changed := current.DeepCopy()
	changed.Spec = manifest.Spec
	for key, value := range manifest.Annotations {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	}
	return e.Patch(e.T.Context(), changed, client.MergeFrom(current))
}

// apply is client-side apply, which leaves the whole manifest in an annotation.
func apply(e *team, manifest *bmov1alpha1.HostClaim) error {
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, corev1.LastAppliedConfigAnnotation, string(text))
	return create(e, manifest)
}

// serverSideApply takes over the fields that another command has written.
func serverSideApply(e *team, manifest *bmov1alpha1.HostClaim) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(manifest)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return e.Apply(e.T.Context(), client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner("kubectl"), client.ForceOwnership)
}

// deploy asks a host for an image with user data.
func deploy(h *bmov1alpha1.BareMetalHost) {
	h.Spec.Online = true
	h.Spec.Image = &bmov1alpha1.Image{URL: imageURL, Checksum: "abc123"}
	h.Spec.UserData = &corev1.SecretReference{Name: "user-data"}
}

func annotate(key, value string) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) { metav1.SetMetaDataAnnotation(&h.ObjectMeta, key, value) }
}

func remove(key string) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, key) }
}

// TestLifeOfAServer follows one server from its registration until it is free
// again.
func TestLifeOfAServer(t *testing.T) {
	r := newRoom(t)
	r.MakeSecret(r.infra, "user-data", "value", "#cloud-config\nruncmd: [hostname]\n")
	r.register("host-0")
	free := r.expect("host-0", bmov1alpha1.StateAvailable, false)
	facts := &bmov1alpha1.HardwareData{}
	r.OK(r.Get(t.Context(), client.ObjectKeyFromObject(free), facts))
	r.G.Expect(facts.Spec.HardwareDetails).To(gomega.Equal(free.Status.HardwareDetails))
	r.G.Expect(free.Status.HardwareDetails.NIC[0].MAC).To(gomega.Equal("02:00:00:00:00:01"))
	r.G.Expect(meta.IsStatusConditionTrue(free.Status.Conditions, bmov1alpha1.AvailableForProvisioningCondition)).To(gomega.BeTrue())

	r.edit("host-0", deploy)
	running := r.expect("host-0", bmov1alpha1.StateProvisioned, true)
	r.G.Expect(running.Status.Provisioning.Image).To(gomega.Equal(*running.Spec.Image))
	r.G.Expect(r.server("host-0")).To(gomega.Equal(life.Server{
		PoweredOn: true, Boots: 1,
		Disk: life.Disk{Image: imageURL, Drive: configdrive.Contents{UserData: "#cloud-config\nruncmd: [hostname]\n"}, Wipes: 1},
	}))

	r.edit("host-0", annotate(bmov1alpha1.RebootAnnotationPrefix, `{"mode":"hard"}`))
	r.G.Eventually(func() int { return r.server("host-0").Boots }).Should(gomega.Equal(2))
	rebooted := r.expect("host-0", bmov1alpha1.StateProvisioned, true)
	r.G.Expect(rebooted.Annotations).NotTo(gomega.HaveKey(bmov1alpha1.RebootAnnotationPrefix))

	const held = bmov1alpha1.RebootAnnotationPrefix + "/remediation"
	r.edit("host-0", annotate(held, ""))
	r.expect("host-0", bmov1alpha1.StateProvisioned, false)
	r.G.Consistently(func() bool { return r.host("host-0").Status.PoweredOn }).Should(gomega.BeFalse())
	r.edit("host-0", remove(held))
	r.expect("host-0", bmov1alpha1.StateProvisioned, true)
	r.edit("host-0", func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = false })
	r.expect("host-0", bmov1alpha1.StateProvisioned, false)
	r.G.Expect(r.server("host-0").Boots).To(gomega.Equal(3))

	r.edit("host-0", func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image, h.Spec.UserData = nil, nil })
	empty := r.expect("host-0", bmov1alpha1.StateAvailable, false)
	r.G.Expect(empty.Status.Provisioning.Image.URL).To(gomega.BeEmpty())
	r.G.Expect(r.server("host-0").Disk).To(gomega.Equal(life.Disk{Wipes: 2}))

	r.OK(r.Delete(t.Context(), empty))
	r.AwaitGone(empty)
	r.AwaitGone(facts)
}

func TestMissingUserDataIsAProvisioningErrorUntilItIsThere(t *testing.T) {
	r := newRoom(t)
	r.register("host-0", deploy)
	r.G.Eventually(func() string { return r.host("host-0").Status.ErrorMessage }).Should(gomega.ContainSubstring(`secret "user-data"`))
	r.MakeSecret(r.infra, "user-data", "userData", "#cloud-config")
	r.expect("host-0", bmov1alpha1.StateProvisioned, true)
}
