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

package inplace

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// group is the API group and version of the hooks in the paths of requests.
const group = "hooks.runtime.cluster.x-k8s.io/v1alpha1"

// world is a worker that Cluster API updates in place, and the extension that it calls.
type world struct {
	*Extension

	t       *testing.T
	machine *clusterv1.Machine
	infra   *infrav1.Metal3Machine
	config  *bootstrapv1.KubeadmConfig
}

// newWorld makes a Machine as Cluster API leaves it when it begins an update in place.
func newWorld(t *testing.T, calls interceptor.Funcs) *world {
	t.Helper()
	c, err := server.NewClient(t.Context(), calls)
	expect.NoError(t, err)
	namespace := server.Namespace(t)
	mark := map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
	w := &world{t: t, Extension: &Extension{Client: c, Live: server.Client}}
	w.machine = &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m-1", Annotations: map[string]string{
			clusterv1.UpdateInProgressAnnotation: "", "runtime.cluster.x-k8s.io/pending-hooks": "UpdateMachine",
		}},
		Spec: clusterv1.MachineSpec{
			ClusterName: "a", Version: "v1.36.1",
			Bootstrap: clusterv1.Bootstrap{
				ConfigRef:      clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: "c-1"},
				DataSecretName: ptr.To("c-1"),
			},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "Metal3Machine", Name: "i-1"},
		},
	}
	server.Create(t, w.machine)
	owners := []metav1.OwnerReference{*metav1.NewControllerRef(w.machine, clusterv1.GroupVersion.WithKind("Machine"))}
	w.infra = &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "i-1", Annotations: mark, OwnerReferences: owners},
		Spec:       infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: "http://x/2", Checksum: ptr.To("abc")}},
	}
	server.Create(t, w.infra)
	w.config = &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c-1", Annotations: mark, OwnerReferences: owners}}
	w.config.Spec.PreKubeadmCommands = []string{"true"}
	w.config.Spec.JoinConfiguration.Discovery.BootstrapToken = bootstrapv1.BootstrapTokenDiscovery{Token: "used", APIServerEndpoint: "192.0.2.1:6443"}
	server.Create(t, w.config)
	w.status(w.config, func() {
		w.config.Status.Initialization.DataSecretCreated, w.config.Status.DataSecretName = ptr.To(true), "c-1"
	})
	return w
}

// status changes the status of an object, and edit the rest.
func (w *world) status(o client.Object, change func()) {
	w.t.Helper()
	before := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of the original
	change()
	expect.NoError(w.t, server.Client.Status().Patch(w.t.Context(), o, client.MergeFrom(before)))
}

func (w *world) edit(o client.Object, change func()) {
	w.t.Helper()
	before := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of the original
	change()
	expect.NoError(w.t, server.Client.Patch(w.t.Context(), o, client.MergeFrom(before)))
}

// says sets the condition by which the machine controller reports the state of the server.
func (w *world) says(status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	w.status(w.infra, func() {
		conditions.Set(w.infra, metav1.Condition{Type: infrav1.HostClaimReadyCondition, Status: status, Reason: reason, Message: message})
	})
}

// read reads all objects anew.
func (w *world) read() {
	w.t.Helper()
	for _, o := range []client.Object{w.machine, w.infra, w.config} {
		expect.NoError(w.t, server.Client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o))
	}
}

// withdrawn returns what is left of the bootstrap data.
func (w *world) withdrawn() string {
	w.t.Helper()
	w.read()
	return fmt.Sprintf("paused %t, token %q, made %t %q, named %t", w.config.Annotations[clusterv1.PausedAnnotation] == infrav1.UpdatePause,
		w.config.Spec.JoinConfiguration.Discovery.BootstrapToken.Token,
		ptr.Deref(w.config.Status.Initialization.DataSecretCreated, false), w.config.Status.DataSecretName,
		w.machine.Spec.Bootstrap.DataSecretName != nil)
}

const nothingLeft = `paused true, token "", made false "", named false`

// caller calls the hooks as Cluster API does.
type caller struct {
	t      *testing.T
	url    string
	client *http.Client
}

// serve starts the server of the extension with a certificate of its own.
func (w *world) serve() caller {
	w.t.Helper()
	dir := w.t.TempDir()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	expect.NoError(w.t, err)
	for name, content := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		expect.NoError(w.t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	port := freePort(w.t)
	s, err := NewServer(w.Extension, runtimeserver.Options{Host: "127.0.0.1", Port: port, CertDir: dir})
	expect.NoError(w.t, err)
	ctx, stop := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.t.Errorf("server: %v", err)
		}
	})
	for started := s.StartedChecker(); started(nil) != nil; {
		select {
		case err := <-ended:
			w.t.Fatalf("server ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return caller{w.t, "https://127.0.0.1:" + strconv.Itoa(port) + "/" + group + "/", &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of TCP
}

func (c caller) call(path string, request, response any) {
	c.t.Helper()
	body, err := json.Marshal(request)
	expect.NoError(c.t, err)
	post, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+path, bytes.NewReader(body))
	expect.NoError(c.t, err)
	answer, err := c.client.Do(post)
	expect.NoError(c.t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s", path, answer.Status)
	}
	expect.NoError(c.t, json.NewDecoder(answer.Body).Decode(response))
}

// update calls UpdateMachine, and returns the answer in one line.
func (c caller) update(machine *clusterv1.Machine) string {
	c.t.Helper()
	request := &runtimehooksv1.UpdateMachineRequest{Desired: runtimehooksv1.UpdateMachineRequestObjects{
		Machine: clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: machine.Namespace, Name: machine.Name}},
	}}
	response := &runtimehooksv1.UpdateMachineResponse{}
	c.call("updatemachine/update-machine", request, response)
	return fmt.Sprintf("%s, again %t: %s", response.Status, response.RetryAfterSeconds > 0, response.Message)
}

func (w *world) expect(got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestUpdateMachine plays an update from the first call to the last one.
func TestUpdateMachine(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	c := w.serve()
	w.says(metav1.ConditionTrue, "Provisioned", "")
	w.expect(c.update(w.machine), "Success, again true: Waiting for the server to be written anew")
	w.expect(w.withdrawn(), nothingLeft)
	w.expect(w.infra.Annotations[infrav1.HeldConfigAnnotation], "c-1")
	token := w.infra.Annotations[infrav1.RebuildAnnotation]
	if token == "" || token != w.config.Annotations[infrav1.RebuildAnnotation] {
		t.Errorf("the server is asked by %q, and the data was held for %q", token, w.config.Annotations[infrav1.RebuildAnnotation])
	}

	w.says(metav1.ConditionFalse, "Rebuilding", "The server is wiped")
	w.edit(w.machine, func() { w.machine.Spec.Bootstrap.DataSecretName = ptr.To("c-1") })
	w.expect(c.update(w.machine), "Success, again true: The server is wiped")
	w.expect(w.withdrawn(), nothingLeft)

	w.says(metav1.ConditionFalse, "WaitingForBootstrapData", "The server is empty")
	w.expect(c.update(w.machine), "Success, again true: The server is empty")
	w.expect(w.withdrawn(), nothingLeft)
	w.edit(w.config, func() { delete(w.config.Annotations, clusterv1.PausedAnnotation) }) // as the machine controller does
	w.edit(w.config, func() { w.config.Spec.JoinConfiguration.Discovery.BootstrapToken.Token = "new" })
	w.status(w.config, func() { w.config.Status.DataSecretName = "c-1" })
	w.edit(w.machine, func() { w.machine.Spec.Bootstrap.DataSecretName = ptr.To("c-1") })
	w.says(metav1.ConditionFalse, "Provisioning", "The image is written")
	w.expect(c.update(w.machine), "Success, again true: The image is written")
	w.expect(w.withdrawn(), `paused false, token "new", made false "c-1", named true`)

	w.says(metav1.ConditionTrue, "Provisioned", "")
	w.expect(c.update(w.machine), "Success, again true: Waiting for the server to be written anew")
	w.edit(w.infra, func() { w.infra.Annotations[infrav1.RebuiltAnnotation] = token })
	w.expect(c.update(w.machine), "Success, again false: ")
}

// TestChangeWhileTheServerIsEmpty shows that a server which is empty for the change before gets
// no new data for the present one, however long the machine controller takes to see it: the
// condition may be about the change before.
func TestChangeWhileTheServerIsEmpty(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	w.edit(w.infra, func() { w.infra.Annotations[infrav1.RebuildAnnotation] = "the change before" })
	w.says(metav1.ConditionFalse, "WaitingForBootstrapData", "The server is empty")
	c := w.serve()
	w.expect(c.update(w.machine), "Success, again true: Waiting for the server to be written anew")
	w.expect(w.withdrawn(), nothingLeft)
	w.expect(c.update(w.machine), "Success, again true: The server is empty")
	w.expect(w.withdrawn(), nothingLeft)
}

// TestForgedRequests shows that a request wipes nothing that Cluster API did not choose.
func TestForgedRequests(t *testing.T) {
	const unmarked = "Failure, again false: Cluster API has not marked Machine and Metal3Machine for an update in place"
	for name, tc := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"a Machine that is not being updated": {
			func(w *world) {
				w.edit(w.machine, func() { delete(w.machine.Annotations, clusterv1.UpdateInProgressAnnotation) })
			}, unmarked,
		},
		"a Machine whose update has not begun": {
			func(w *world) {
				w.edit(w.machine, func() { w.machine.Annotations["runtime.cluster.x-k8s.io/pending-hooks"] = "Other" })
			}, unmarked,
		},
		"a Metal3Machine that is not marked": {
			func(w *world) { w.edit(w.infra, func() { w.infra.Annotations = nil }) }, unmarked,
		},
		"a Metal3Machine of another Machine": {
			func(w *world) { w.edit(w.infra, func() { w.infra.OwnerReferences = nil }) }, unmarked,
		},
		"a Machine that does not exist": {func(w *world) {
			w.machine = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "x"}}
		}, unmarked},
		"a Machine whose name is none": {func(w *world) {
			w.machine = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "x/" + strings.Repeat("y", 300)}}
		}, "Failure, again false: The request names no Machine"},
		"the KubeadmConfig of another Machine": {
			func(w *world) { w.edit(w.config, func() { w.config.OwnerReferences = nil }) },
			"Failure, again false: The bootstrap data is not made from a KubeadmConfig, so that no new data can be made",
		},
		"a control plane": {
			func(w *world) {
				w.edit(w.machine, func() { w.machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""} })
			},
			"Failure, again false: The server of a control plane is not written anew, since its member of etcd would lose its data",
		},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			w := newWorld(t, writing(func() error { writes++; return nil }))
			tc.change(w)
			w.expect(w.serve().update(w.machine), tc.want)
			if writes != 0 {
				t.Errorf("%d writes", writes)
			}
		})
	}
}

// writing calls before each write.
func writing(before func() error) interceptor.Funcs {
	return interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return errors.Join(before(), c.Patch(ctx, o, p, options...))
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption,
		) error {
			return errors.Join(before(), c.SubResource(sub).Patch(ctx, o, p, options...))
		},
	}
}

// TestUpdateSurvivesAManagerThatDies loses the answer to each of the writes in turn. The next
// call ends up where one call would have.
func TestUpdateSurvivesAManagerThatDies(t *testing.T) {
	const writes = 5
	tokens := map[string]bool{}
	for at := 1; at <= writes; at++ {
		t.Run(fmt.Sprintf("write %d", at), func(t *testing.T) {
			done := 0
			w := newWorld(t, writing(func() error {
				if done++; done == at {
					return errors.New("the manager is dead")
				}
				return nil
			}))
			c := w.serve()
			w.expect(c.update(w.machine), "Failure, again false: "+
				"The objects of the Machine cannot be read or written; the log of the provider manager says why. It is tried again")
			w.expect(c.update(w.machine), "Success, again true: Waiting for the server to be written anew")
			w.expect(w.withdrawn(), nothingLeft)
			tokens[w.infra.Annotations[infrav1.RebuildAnnotation]] = true
			if done != writes {
				t.Errorf("%d writes, want %d", done, writes)
			}
		})
	}
	if len(tokens) != 1 || tokens[""] {
		t.Errorf("tokens %v, want one", tokens)
	}
}

// side is one side of an update of a MachineSet.
func side(version, image string) runtimehooksv1.CanUpdateMachineSetRequestObjects {
	return runtimehooksv1.CanUpdateMachineSetRequestObjects{
		MachineSet: clusterv1.MachineSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "workers"},
			Spec: clusterv1.MachineSetSpec{
				Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{Version: version}},
			},
		},
		InfrastructureMachineTemplate: runtime.RawExtension{Raw: []byte(
			`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"Metal3MachineTemplate","spec":{"template":{"spec":{"image":{"url":"` + image + `"}}}}}`)},
		BootstrapConfigTemplate: runtime.RawExtension{Raw: []byte(
			`{"apiVersion":"bootstrap.cluster.x-k8s.io/v1beta2","kind":"KubeadmConfigTemplate","spec":{"template":{"spec":{}}}}`)},
	}
}

// TestCanUpdateMachineSet shows the answer as Cluster API reads it, and which hooks are served.
func TestCanUpdateMachineSet(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	c := w.serve()
	discovery := &runtimehooksv1.DiscoveryResponse{}
	c.call("discovery", &runtimehooksv1.DiscoveryRequest{}, discovery)
	served := map[string]bool{}
	for _, h := range discovery.Handlers {
		served[h.RequestHook.Hook+"/"+h.Name] = true
	}
	if len(served) != 2 || !served["CanUpdateMachineSet/can-update-machine-set"] || !served["UpdateMachine/update-machine"] {
		t.Errorf("hooks %v", served)
	}

	response := &runtimehooksv1.CanUpdateMachineSetResponse{}
	c.call("canupdatemachineset/can-update-machine-set",
		&runtimehooksv1.CanUpdateMachineSetRequest{Current: side("v1", "http://x/1"), Desired: side("v2", "http://x/2")}, response)
	w.expect(string(response.Status), "Success")
	w.expect(string(response.MachineSetPatch.Patch), `[{"op":"add","path":"/spec/template/spec/version","value":"v2"}]`)
	w.expect(string(response.InfrastructureMachineTemplatePatch.Patch),
		`[{"op":"add","path":"/spec/template/spec/image","value":{"url":"http://x/2"}}]`)
	w.expect(string(response.InfrastructureMachineTemplatePatch.PatchType), "JSONPatch")
	if response.BootstrapConfigTemplatePatch.IsDefined() {
		t.Errorf("patch of the bootstrap config: %s", response.BootstrapConfigTemplatePatch.Patch)
	}

	nameless := side("v2", "http://x/2")
	nameless.MachineSet.Name = strings.Repeat("x", 300)
	w.CanUpdateMachineSet(t.Context(), &runtimehooksv1.CanUpdateMachineSetRequest{Current: side("v1", "http://x/1"), Desired: nameless}, response)
	w.expect(string(response.Status)+": "+response.Message, "Failure: The request names no MachineSet")
}

// TestCallsAreBounded shows what a caller can have the manager hold, who needs no certificate: a
// call that is too long is not read, and those past the limit wait without being read.
func TestCallsAreBounded(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	c := w.serve()
	response := &runtimehooksv1.UpdateMachineResponse{}
	c.call("updatemachine/update-machine", map[string]string{"padding": strings.Repeat("x", maxBody)}, response)
	w.expect(response.Message, "error reading request: http: request body too large")

	s := limitedServer{slots: make(chan struct{}, 1), timeout: time.Minute}
	answer := func(ctx context.Context) int {
		recorder := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		s.limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })).
			ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil))
		if recorder.Code == http.StatusOK && recorder.read.IsZero() {
			t.Error("a call may be sent for ever")
		}
		return recorder.Code
	}
	for range 2 {
		if code := answer(t.Context()); code != http.StatusOK {
			t.Errorf("a call that is alone is answered with %d", code)
		}
	}
	s.slots <- struct{}{}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if code := answer(gone); code != http.StatusServiceUnavailable {
		t.Errorf("a call past the limit is answered with %d", code)
	}
}

// deadlines is a recorder that takes deadlines as a connection does.
type deadlines struct {
	*httptest.ResponseRecorder

	read time.Time
}

func (d *deadlines) SetReadDeadline(deadline time.Time) error {
	d.read = deadline
	return nil
}
