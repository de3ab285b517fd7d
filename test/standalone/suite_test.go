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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
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
