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
	"context"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func parse(t *testing.T, args ...string) Options {
	t.Helper()
	o := NewOptions()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.AddFlags(fs)
	expect.NoError(t, fs.Parse(args))
	return o
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string // part of the error; empty when valid
	}{
		"accepts the defaults":             {nil, ""},
		"accepts a manager without a port": {[]string{"--webhook-port=0", "--webhook-cert-dir="}, ""},
		"refuses no requests at all":       {[]string{"--kube-api-qps=0"}, "--kube-api-qps"},
		"refuses what is no port":          {[]string{"--webhook-port=70000"}, "--webhook-port=70000"},
		"wants certificates for webhooks":  {[]string{"--webhook-cert-dir="}, "--webhook-cert-dir"},
		"refuses no workers":               {[]string{"--hostclaim-concurrency=0"}, "--hostclaim-concurrency"},
		"accepts no grace for orphans":     {[]string{"--orphan-grace=0s"}, ""},
		"refuses less than that":           {[]string{"--orphan-grace=-1s"}, "--orphan-grace"},
		"accepts images from everywhere":   {[]string{"--image-denied-addresses="}, ""},
		"refuses a name among addresses":   {[]string{"--image-denied-addresses=example.org"}, "--image-denied-addresses"},
		"refuses no period":                {[]string{"--sync-period=0s"}, "--sync-period"},
		"refuses a lease that is too short": {
			[]string{"--leader-elect", "--leader-elect-lease-duration=1s"}, "--leader-elect-lease-duration",
		},
		"ignores the lease without election": {[]string{"--leader-elect-lease-duration=1s"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, tt.args...).Validate()
			expect.That(t, (err == nil) == (tt.want == "") && (err == nil || strings.Contains(err.Error(), tt.want)), "Validate() = %v, want an error with %q", err, tt.want)
		})
	}
}

func TestNewManagerSaysWhatToDoAboutAServerThatDoesNotAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that it does not wait for the server
	o := parse(t, "--webhook-port=0", "--health-addr=0", "--diagnostics-address=0", "--insecure-diagnostics")
	_, err := NewManager(ctx, &rest.Config{Host: "https://127.0.0.1:1"}, o)
	expect.Error(t, "kubeconfig", err)
}

func TestNeedsNameEveryKindThatIsCached(t *testing.T) {
	named := map[string]bool{}
	for _, need := range neededCRDs() {
		named[need.Name] = need.Remedy != ""
	}
	want := map[string]bool{
		"hostclaims.metal3.io": true, "hostdeploypolicies.metal3.io": true,
		"baremetalhosts.metal3.io": true, "hardwaredata.metal3.io": true,
		"hostclaimclasses.hostclaim.metal3.io": true,
	}
	expect.Equal(t, want, named)
}

func TestCacheHoldsOnlyWhatIsReadOfHosts(t *testing.T) {
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Name:          "host-0",
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "keep": "me"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}},
	}}
	got, err := strip(host)
	expect.NoError(t, err)
	want := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Name: "host-0", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "", "keep": "me"},
	}}
	expect.Equal[any](t, want, got)
	options := CacheOptions(parse(t, "--namespace=tenant"))
	if _, found := options.DefaultNamespaces["tenant"]; !found {
		t.Errorf("namespaces %v, want tenant", options.DefaultNamespaces)
	}
}
