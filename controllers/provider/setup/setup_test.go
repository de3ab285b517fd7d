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

package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// parse returns the options that the flags give.
func parse(t *testing.T, flags ...string) Options {
	t.Helper()
	o := NewOptions()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.AddFlags(fs)
	expect.NoError(t, fs.Parse(flags))
	return o
}

func TestDefaults(t *testing.T) {
	o := parse(t)
	want := Options{
		Options: manager.Options{
			API: manager.Rate{QPS: 300, Burst: 600}, SyncPeriod: 10 * time.Hour,
			WebhookPort: 9443, WebhookCertDir: "/tmp/k8s-webhook-server/serving-certs/", HealthAddress: ":9440",
			LeaderElection: manager.LeaderElection{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second},
			Serving:        o.Serving, Logging: o.Logging,
		},
		Workload: manager.Rate{QPS: 20, Burst: 30},

		WorkloadConnections: 100, ReadRate: 2,

		WorkloadDenied: "local", IdentityDenied: "local,services", IdentityConnections: 10, IdentityConnectionMemory: 64, IdentityMemory: 256,

		NodeReuseTimeout: time.Hour,

		Concurrency: Concurrency{Cluster: 10, Machine: 10, MachineTemplate: 10, DataTemplate: 10, Data: 10, Remediation: 10, ClusterCache: 10},
	}
	expect.Equal(t, want, o)
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		flags []string
		want  []string
	}{
		"the defaults are fine": {},
		"no webhooks are fine":  {flags: []string{"--webhook-port=0", "--webhook-cert-dir="}},
		"rates are positive": {
			flags: []string{"--kube-api-qps=0", "--clustercache-client-burst=-1"},
			want:  []string{"--kube-api-qps and --kube-api-burst must be positive", "--clustercache-client-qps and --clustercache-client-burst must be positive"},
		},
		"a port is a port":                           {flags: []string{"--webhook-port=70000"}, want: []string{"--webhook-port=70000 is no port"}},
		"webhooks need certificates":                 {flags: []string{"--webhook-cert-dir="}, want: []string{"--webhook-cert-dir is needed with webhooks"}},
		"a controller has workers":                   {flags: []string{"--metal3data-concurrency=0"}, want: []string{"every --*-concurrency must be at least 1"}},
		"a controller of remediations too":           {flags: []string{"--metal3remediation-concurrency=0"}, want: []string{"every --*-concurrency must be at least 1"}},
		"a period is positive":                       {flags: []string{"--sync-period=0"}, want: []string{"--sync-period must be positive"}},
		"times are of no matter without an election": {flags: []string{"--leader-elect-retry-period=1h"}},
		"hooks are served on a port of their own":    {flags: []string{"--runtime-extension-port=9443"}, want: []string{"--runtime-extension-port needs a port of its own, and --webhook-cert-dir"}},
		"a port of hooks is a port":                  {flags: []string{"--runtime-extension-port=-1"}, want: []string{"--runtime-extension-port=-1 is no port"}},
		"a server is kept for some time":             {flags: []string{"--node-reuse-timeout=0"}, want: []string{"--node-reuse-timeout must be positive"}},
		"a flag that CAPM3 has is passed over":       {flags: []string{"--metal3labelsync-concurrency=5"}},
		"servers stay on where their host says so":   {flags: []string{"--fast-track"}, want: []string{"remove it, and annotate the hosts"}},
		"phases that Cluster API names are skipped":  {flags: []string{"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields"}},
		"all phases of a migration are skipped":      {flags: []string{"--skip-crd-migration-phases=All"}},
		"a phase is one that exists": {
			flags: []string{"--skip-crd-migration-phases=Cleanup"},
			want:  []string{`--skip-crd-migration-phases: "Cleanup" is none of All, StorageVersionMigration and CleanupManagedFields`},
		},
		"other clusters may be anywhere": {flags: []string{"--identity-denied-addresses="}},
		"an address is one": {
			flags: []string{"--identity-denied-addresses=local,example.org"},
			want:  []string{`--identity-denied-addresses: "example.org"`},
		},
		"an address of a workload cluster is one": {
			flags: []string{"--workload-denied-addresses=everything"},
			want:  []string{`--workload-denied-addresses: "everything"`},
		},
		"connections have room": {
			flags: []string{"--identity-connections-per-namespace=0", "--identity-connection-memory=300"},
			want: []string{
				"--identity-connections-per-namespace must be at least 1",
				"--identity-connection-memory must be positive, and no more than --identity-memory",
			},
		},
		"a leader renews in time": {
			flags: []string{"--leader-elect", "--leader-elect-renew-deadline=1h"},
			want:  []string{"--leader-elect-lease-duration must be longer"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, tc.flags...).Validate()
			expect.Must(t, (err != nil) == (len(tc.want) > 0), "error is %v", err)
			for _, want := range tc.want {
				expect.That(t, strings.Contains(err.Error(), want), "%v does not say %q", err, want)
			}
		})
	}
}

func TestStrip(t *testing.T) {
	data := func(owner string) *bmov1alpha1.HardwareData {
		return &bmov1alpha1.HardwareData{
			ObjectMeta: metav1.ObjectMeta{
				Name: "x", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
				OwnerReferences: []metav1.OwnerReference{{Kind: owner, Name: "o"}},
			},
			Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
				Hostname: "h", Storage: []bmov1alpha1.Storage{{Name: "/dev/sda"}},
			}},
		}
	}
	published := data("HostClaim")
	published.ManagedFields, published.Spec.HardwareDetails.Storage = nil, nil
	foreign := data("BareMetalHost")
	foreign.ManagedFields, foreign.Labels, foreign.Spec = nil, nil, bmov1alpha1.HardwareDataSpec{}
	small := metav1.ObjectMeta{
		Name: "x", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"},
		Annotations:     map[string]string{clusterv1.PausedAnnotation: ""},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Machine", Name: "m"}},
	}
	large := *small.DeepCopy()
	large.Annotations["note"] = strings.Repeat("x", 1<<10)
	for _, tc := range []struct{ given, want any }{
		{data("HostClaim"), published},
		{data("BareMetalHost"), foreign},
		{"tombstone", "tombstone"},
		{
			&infrav1.Metal3Remediation{
				ObjectMeta: *large.DeepCopy(),
				Spec:       infrav1.Metal3RemediationSpec{Strategy: &infrav1.RemediationStrategy{RetryLimit: 3}},
				Status:     infrav1.Metal3RemediationStatus{Phase: "Waiting"},
			},
			&infrav1.Metal3Remediation{
				ObjectMeta: small,
				Spec:       infrav1.Metal3RemediationSpec{Strategy: &infrav1.RemediationStrategy{RetryLimit: 3}},
				Status:     infrav1.Metal3RemediationStatus{Phase: "Waiting"},
			},
		},
	} {
		got, err := strip(tc.given)
		expect.NoError(t, err)
		expect.Equal(t, tc.want, got)
	}
}

// TestDataOptions shows which options reach the controller of Metal3Datas.
func TestDataOptions(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{})
	expect.NoError(t, err)
	for _, names := range []bool{true, false} {
		o := parse(t, fmt.Sprintf("--enable-bmh-name-based-preallocation=%v", names), "--watch-filter=mine")
		r := newData(&shared{mgr: mgr, options: o}, nil)
		expect.That(t, r.ClaimsByHostName == names && r.WatchFilter == "mine", "claims by host name: %v, want %v; watch filter %q", r.ClaimsByHostName, names, r.WatchFilter)
	}
}

func TestCacheOptions(t *testing.T) {
	o := CacheOptions(parse(t))
	expect.That(t, o.DefaultNamespaces == nil, "namespaces are %v", o.DefaultNamespaces)
	// The cache could not be made in a cluster that does not know the kind.
	for kind := range o.ByObject {
		t.Errorf("%T has options of its own", kind)
	}
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}}
	_, err := o.DefaultTransform(host)
	expect.That(t, err == nil && host.ManagedFields == nil, "managed fields are kept (%v)", err)
	if o := CacheOptions(parse(t, "--namespace=tenant-a")); len(o.DefaultNamespaces) != 1 {
		t.Errorf("namespaces are %v", o.DefaultNamespaces)
	}
}

// TestNeededKinds makes sure that the message about a missing kind names a CRD
// that exists, and a remedy.
func TestNeededKinds(t *testing.T) {
	scheme, err := NewScheme()
	expect.NoError(t, err)
	for _, need := range neededCRDs() {
		expect.That(t, scheme.Recognizes(need.Kind), "%s is not in the scheme", need.Kind)
		expect.That(t, need.Remedy != "", "nothing to do about %s", need.Name)
		plural, group, _ := strings.Cut(need.Name, ".")
		if group == "infrastructure.cluster.x-k8s.io" {
			if _, err := os.Stat(filepath.Join("..", "..", "..", "config", "crd", "bases", group+"_"+plural+".yaml")); err != nil {
				t.Error(err)
			}
		}
	}
}
