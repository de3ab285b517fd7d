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
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func (r *room) expect(host string, want phase) {
	r.t.Helper()
	if got, _ := r.reconcile(host); got != want {
		r.t.Fatalf("machine on %s is in phase %d, want %d; log: %s", host, got, want, strings.Join(r.logs, "\n"))
	}
}

func TestLifeOfAMachine(t *testing.T) {
	r := newRoom(t)
	host := r.host("host-0", "init")
	host.Status.PoweredOn = false
	r.expect("host-0", installed)
	host.Status.PoweredOn = true
	r.expect("host-0", running)
	host.Status.PoweredOn = false
	r.expect("host-0", off)
	host.Status.PoweredOn = true
	r.expect("host-0", running)
	host.Status.Provisioning.State = bmov1alpha1.StateDeprovisioning
	r.expect("host-0", absent)
	host.Status.Provisioning.State = bmov1alpha1.StateProvisioned
	r.expect("host-0", running)
	delete(r.hosts, "host-0")
	r.expect("host-0", absent)
}

// A server that hangs runs again after it had no power, unless it hangs at its next boot too.
func TestServerHangs(t *testing.T) {
	r := newRoom(t)
	host := r.host("host-0", "init")
	r.expect("host-0", running)
	host.Annotations = map[string]string{HangAnnotation: ""}
	r.expect("host-0", hung)
	for _, hangs := range []bool{true, false} {
		if !hangs {
			host.Annotations = nil
		}
		host.Status.PoweredOn = false
		r.expect("host-0", off)
		host.Status.PoweredOn = true
		r.expect("host-0", map[bool]phase{true: off, false: running}[hangs])
	}
}

// A reboot may be over before its host is looked at again.
func TestShortRebootIsNotMissed(t *testing.T) {
	r := newRoom(t)
	host := r.host("host-0", "init")
	r.expect("host-0", running)
	host.Annotations = map[string]string{HangAnnotation: ""}
	r.expect("host-0", hung)
	host.Annotations = nil
	r.expect("host-0", hung)
	seen := host.DeepCopy()
	seen.Status.PoweredOn = false
	r.guest.notePower(seen)
	r.expect("host-0", running)
}

// A host that is moved to another cluster leaves its server running, and finds it again when
// it comes back, first without a status.
func TestServerOutlivesAMoveOfItsHost(t *testing.T) {
	r := newRoom(t)
	host := r.host("host-0", "init")
	r.expect("host-0", running)
	host.Annotations = map[string]string{bmov1alpha1.PausedAnnotation: "move"}
	r.expect("host-0", running)
	host.Annotations = map[string]string{"clusterctl.cluster.x-k8s.io/delete-for-move": ""}
	host.Status.PoweredOn = false
	r.expect("host-0", running)
	delete(r.hosts, "host-0")
	r.expect("host-0", running)

	back := host.DeepCopy()
	back.UID, back.Annotations, back.Status = "uid-after-the-move", nil, bmov1alpha1.BareMetalHostStatus{}
	r.hosts["host-0"] = back
	r.expect("host-0", running)
	back.Status = host.Status
	back.Status.PoweredOn = true
	r.expect("host-0", running)
	back.Status.Provisioning.State = bmov1alpha1.StateDeprovisioning
	r.expect("host-0", absent)
}

// The cluster of a server that was moved here may be served by the hostsim where it was.
func TestMovedServerRunsAlready(t *testing.T) {
	r := newRoom(t)
	other, err := net.Listen("tcp", r.cluster.Endpoint)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	r.guest.Started = provisioned.Add(time.Hour)
	r.host("host-0", "init")
	r.expect("host-0", alone)
}

func TestDriveIsReadOncePerDeployment(t *testing.T) {
	r := newRoom(t)
	host := r.host("host-0", "missing")
	r.expect("host-0", dead)
	r.secrets["missing"] = r.secrets["init"]
	r.expect("host-0", dead)
	host.Status.OperationHistory.Provision.Start = metav1.NewTime(provisioned.Add(time.Minute))
	r.expect("host-0", running)
	r.secrets["missing"] = nil
	r.expect("host-0", running)
}

func TestWorkerWaitsForItsCluster(t *testing.T) {
	r := newRoom(t)
	r.host("host-1", "worker")
	if got, result := r.reconcile("host-1"); got != installed || result.RequeueAfter != joinTimeout+time.Second {
		t.Fatalf("phase %d, %v", got, result)
	}
	if hosts := r.guest.waitingHosts(t.Context(), nil); len(hosts) != 1 || hosts[0].Name != "host-1" {
		t.Errorf("waiting: %v", hosts)
	}
	r.host("host-0", "init")
	r.expect("host-0", running)
	r.expect("host-1", installed)
	r.clock.SetTime(provisioned.Add(joinTimeout))
	r.expect("host-1", dead)
	if hosts := r.guest.waitingHosts(t.Context(), nil); len(hosts) != 0 {
		t.Errorf("waiting: %v", hosts)
	}
}

func TestMachinesFromBeforeAreRestored(t *testing.T) {
	r := newRoom(t)
	r.guest.Started = provisioned.Add(time.Hour)
	r.host("host-1", "worker")
	if got, result := r.reconcile("host-1"); got != installed || result.RequeueAfter != 0 {
		t.Fatalf("a restored worker waits for its cluster without deadline: phase %d, %v", got, result)
	}
	r.host("host-0", "init")
	r.expect("host-0", running)
	r.expect("host-1", running)
}

// A server that is claimed by hand runs what its owner wants, and the log names it.
func TestMachineWithoutKubeadmRunsAlone(t *testing.T) {
	tests := map[string]struct {
		given func(*room, *bmov1alpha1.BareMetalHost)
		boots string
	}{
		"without user data": {
			func(_ *room, host *bmov1alpha1.BareMetalHost) { host.Spec.UserData = nil }, `"hostname"="host-0" "runcmd"=[]`,
		},
		"with commands of its own": {
			func(r *room, _ *bmov1alpha1.BareMetalHost) {
				r.secrets["init"]["value"] = []byte("#cloud-config\nhostname: build-1\nruncmd:\n- echo hello\n")
			},
			`"hostname"="build-1" "runcmd"=["echo hello"]`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			host := r.host("host-0", "init")
			tc.given(r, host)
			r.expect("host-0", alone)
			host.Status.PoweredOn = false
			r.expect("host-0", aloneOff)
			host.Status.PoweredOn = true
			r.expect("host-0", alone)
			// baremetal-operator takes the annotation off when it has rebooted the server.
			host.Annotations = map[string]string{bmov1alpha1.RebootAnnotationPrefix: ""}
			r.guest.notePower(host)
			r.expect("host-0", alone)
			host.Annotations = nil
			r.expect("host-0", alone)
			r.expect("host-0", alone)
			host.Status.Provisioning.State = bmov1alpha1.StateDeprovisioning
			r.expect("host-0", absent)
			want := []string{"Machine boots its image and joins no cluster", "Machine is off", "Machine boots again", "Machine boots again", "Machine is wiped"}
			expect.Equal(t, want, r.logs, cmp.Comparer(func(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) }))
			expect.Equal(t, true, strings.Contains(r.logs[0], tc.boots))
		})
	}
}

func TestUnusableDriveIsReported(t *testing.T) {
	link := func(mac string) []byte {
		return []byte(`{"links":[{"id":"eth0","type":"phy","ethernet_mac_address":"` + mac + `"}]}`)
	}
	tests := map[string]struct {
		given func(*room, *bmov1alpha1.BareMetalHost)
		want  string
	}{
		"a secret that does not exist": {
			func(r *room, _ *bmov1alpha1.BareMetalHost) { delete(r.secrets, "init") },
			`"the secret does not exist" "secret"="init" "key"="userData"`,
		},
		"a secret without the key": {
			func(r *room, _ *bmov1alpha1.BareMetalHost) {
				r.secrets["host-0-metadata"] = map[string][]byte{"x": nil}
			},
			`"the secret has neither this key nor \"value\"" "secret"="host-0-metadata" "key"="metaData"`,
		},
		"a secret of another namespace": {
			func(_ *room, host *bmov1alpha1.BareMetalHost) { host.Spec.UserData.Namespace = "tenant" },
			`the secret must be next to the host" "secret"="init" "key"="userData"`,
		},
		"metadata that is no map": {
			func(r *room, _ *bmov1alpha1.BareMetalHost) { r.secrets["host-0-metadata"]["metaData"] = []byte("[]") },
			`"secret"="host-0-metadata" "key"="metaData"`,
		},
		"metadata without a key that the user data asks for": {
			func(r *room, _ *bmov1alpha1.BareMetalHost) { r.secrets["host-0-metadata"]["metaData"] = []byte("{}") },
			`"template variable \"ds.meta_data.providerid\" is undefined" "secret"="init" "key"="userData"`,
		},
		"a name that no Node can have": {
			func(r *room, _ *bmov1alpha1.BareMetalHost) {
				r.secrets["host-0-metadata"]["metaData"] = []byte("{name: a_b, providerid: x}")
			},
			`"secret"="init" "key"="userData"`,
		},
		"network data for a card that is not there": {
			func(r *room, host *bmov1alpha1.BareMetalHost) {
				host.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
				r.secrets["net"] = map[string][]byte{"networkData": link("00:00:00:00:00:99")}
			},
			`the machine has no network card with MAC address \"00:00:00:00:00:99\"" "secret"="net" "key"="networkData"`,
		},
		"network data that is none": {
			func(r *room, host *bmov1alpha1.BareMetalHost) {
				host.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
				r.secrets["net"] = map[string][]byte{"value": []byte("[")}
			},
			`"secret"="net" "key"="networkData"`,
		},
		"user data of another format": {
			func(r *room, _ *bmov1alpha1.BareMetalHost) { r.secrets["init"]["value"] = []byte("#!/bin/sh") },
			`"user data is not a cloud-config`,
		},
		"a cluster that refuses the machine": {
			func(r *room, _ *bmov1alpha1.BareMetalHost) {
				r.secrets["init"]["value"] = []byte(strings.ReplaceAll(r.cluster.Init(), r.cluster.Endpoint, "192.0.2.1:6443"))
			},
			`"secret"="init" "key"="userData"`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			tc.given(r, r.host("host-0", "init"))
			r.expect("host-0", dead)
			if len(r.logs) != 1 || !strings.Contains(r.logs[0], tc.want) {
				t.Errorf("want one line with %s, got: %s", tc.want, strings.Join(r.logs, "\n"))
			}
		})
	}
}
