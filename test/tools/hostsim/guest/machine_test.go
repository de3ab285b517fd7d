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

package guest

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/internal/sample"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/workload"
)

func TestNewMachineFacts(t *testing.T) {
	network := `{"links":[{"id":"eth0","type":"phy","ethernet_mac_address":"00:00:00:00:00:01"}],
"networks":[{"id":"net","type":"ipv4","link":"eth0","ip_address":"10.0.0.7","netmask":"255.255.255.0"}]}`
	tests := map[string]struct {
		change func(*bmov1alpha1.BareMetalHost, *configdrive.Contents)
		want   func(*workload.NodeFacts)
	}{
		"takes name from metadata, version from the image, size from inspection, address from DHCP": {
			change: func(*bmov1alpha1.BareMetalHost, *configdrive.Contents) {},
			want:   func(*workload.NodeFacts) {},
		},
		"prefers static addresses": {
			change: func(host *bmov1alpha1.BareMetalHost, drive *configdrive.Contents) {
				host.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
				drive.NetworkData = network
			},
			want: func(f *workload.NodeFacts) { f.Addresses = []string{"10.0.0.7"} },
		},
		"does without inspection": {
			change: func(host *bmov1alpha1.BareMetalHost, drive *configdrive.Contents) {
				host.Status.HardwareDetails = nil
				host.Spec.BootMACAddress = "00:00:00:00:00:01"
				host.Status.Provisioning.Image.URL = "http://images/22.04.1.qcow2"
				drive.NetworkData = network
			},
			want: func(f *workload.NodeFacts) {
				f.Addresses, f.Capacity = []string{"10.0.0.7"}, workload.Capacity(1, 1024)
			},
		},
		"knows ARM": {
			change: func(host *bmov1alpha1.BareMetalHost, _ *configdrive.Contents) {
				host.Status.HardwareDetails.CPU.Arch = "aarch64"
			},
			want: func(f *workload.NodeFacts) { f.Architecture = "arm64" },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			host := r.host("host-0", "init")
			drive := configdrive.Contents{UserData: string(r.secrets["init"]["value"]), MetaData: "{name: Node-0, providerid: x}"}
			tc.change(host, &drive)
			got, err := newMachine(host, drive)
			expect.NoError(t, err)
			want := workload.NodeFacts{
				Name: "node-0", KubeletVersion: "v1.36.1", SystemUUID: "uid-of-host", Architecture: "amd64",
				Addresses: []string{"192.168.1.1"}, Capacity: workload.Capacity(4, 8192),
			}
			tc.want(&want)
			expect.Equal(t, want, got.Node)
		})
	}
}

func TestNext(t *testing.T) {
	on, powerless, empty := observed{deployment: "d", poweredOn: true}, observed{deployment: "d"}, observed{poweredOn: true}
	hanging := observed{deployment: "d", poweredOn: true, hangs: true}
	tests := map[string]struct {
		given      observed
		deployment string
		phase      phase
		want       step
	}{
		"does nothing on a host without operating system":         {empty, "", absent, nothing},
		"reads the drive of a new deployment":                     {on, "", absent, install},
		"reads the drive even before the host has power":          {powerless, "", absent, install},
		"boots what is installed":                                 {on, "d", installed, boot},
		"holds before it boots for the first time":                {observed{deployment: "d", poweredOn: true, holds: true}, "d", installed, nothing},
		"waits for power before it boots":                         {powerless, "d", installed, nothing},
		"leaves a running machine alone":                          {on, "d", running, nothing},
		"stops a machine without power":                           {powerless, "d", running, powerOff},
		"starts a machine that has power again":                   {on, "d", off, powerOn},
		"leaves a machine without power off":                      {powerless, "d", off, nothing},
		"never boots a dead machine again":                        {on, "d", dead, nothing},
		"hangs a running machine":                                 {hanging, "d", running, hang},
		"leaves a machine hanging although it need not any more":  {on, "d", hung, nothing},
		"stops a hanging machine without power":                   {powerless, "d", hung, powerOff},
		"lets a machine hang at its next boot too":                {hanging, "d", off, nothing},
		"wipes a hanging machine whose host is deprovisioned":     {empty, "d", hung, wipe},
		"wipes a machine whose host is deprovisioned":             {empty, "d", running, wipe},
		"wipes a dead machine whose host is deprovisioned":        {empty, "d", dead, wipe},
		"wipes what was there before a new deployment, dead even": {on, "before", dead, wipe},
		"wipes a machine that was off when it was redeployed":     {powerless, "before", off, wipe},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, next(tc.given, tc.deployment, tc.phase)) })
	}
}

const namespace = "infra"

// provisioned is when the hosts of the tests got their operating system.
var provisioned = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

// store hands out hosts and secrets by name. It is all that a guest asks of an
// API server.
type store struct {
	client.Reader
	hosts   map[string]*bmov1alpha1.BareMetalHost
	secrets map[string]map[string][]byte
}

// Get finds a host or a secret.
func (s store) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch into := obj.(type) {
	case *bmov1alpha1.BareMetalHost:
		if host, ok := s.hosts[key.Name]; ok {
			host.DeepCopyInto(into)
			return nil
		}
	case *corev1.Secret:
		if data, ok := s.secrets[key.Name]; ok {
			into.Data = data
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// room is a server room with a guest in it.
type room struct {
	store
	t       *testing.T
	guest   *Reconciler
	clock   *clocktesting.FakePassiveClock
	cluster sample.Cluster
	logs    []string
}

func newRoom(t *testing.T) *room {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	endpoint := listener.Addr().String()
	clusters, err := workload.New(logr.Discard(), func() {})
	expect.NoError(t, errors.Join(err, listener.Close()))
	r := &room{
		t: t, cluster: sample.NewCluster(endpoint), clock: clocktesting.NewFakePassiveClock(provisioned),
		store: store{hosts: map[string]*bmov1alpha1.BareMetalHost{}, secrets: map[string]map[string][]byte{}},
	}
	r.guest = &Reconciler{Hosts: r.store, Secrets: r.store, Clusters: clusters, Clock: r.clock, Started: provisioned.Add(-time.Hour)}
	r.secrets["init"] = map[string][]byte{"value": []byte(r.cluster.Init())}
	r.secrets["worker"] = map[string][]byte{"value": []byte(r.cluster.JoinWorker())}
	return r
}

// host adds a provisioned host with power whose user data is in a secret.
func (r *room) host(name, userData string) *bmov1alpha1.BareMetalHost {
	at := metav1.NewTime(provisioned)
	host := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-of-host"},
		Spec: bmov1alpha1.BareMetalHostSpec{
			UserData: &corev1.SecretReference{Name: userData},
			MetaData: &corev1.SecretReference{Name: name + "-metadata"},
		},
	}
	host.Status.PoweredOn = true
	host.Status.Provisioning.State = bmov1alpha1.StateProvisioned
	host.Status.Provisioning.Image.URL = "http://images/ubuntu-24.04-k8s-v1.36.1.qcow2"
	host.Status.OperationHistory.Provision = bmov1alpha1.OperationMetric{Start: at, End: at}
	host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{
		RAMMebibytes: 8192, CPU: bmov1alpha1.CPU{Count: 4, Arch: "x86_64"},
		NIC: []bmov1alpha1.NIC{{MAC: "00:00:00:00:00:01", IP: "192.168.1.1"}},
	}
	r.hosts[name] = host
	r.secrets[name+"-metadata"] = map[string][]byte{"metaData": []byte("providerid: tenant/" + name + "/machine\nname: node-of-" + name)}
	return host
}

// reconcile lets the guest look at a host and returns the state of its machine.
func (r *room) reconcile(name string) (phase, ctrl.Result) {
	r.t.Helper()
	req := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
	logger := funcr.New(func(_, line string) { r.logs = append(r.logs, line) }, funcr.Options{})
	result, err := r.guest.Reconcile(logr.NewContext(r.t.Context(), logger), req)
	expect.NoError(r.t, err)
	return r.guest.book.load(req.NamespacedName).phase, result
}
