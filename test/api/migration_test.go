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

package api_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// Objects that a release with v1beta1 as storage version has stored are stored in v1beta2 once the manager runs, with
// its own rights, so that v1beta1 can be dropped one day.
func TestStoredVersionsAreMigrated(t *testing.T) {
	g := gomega.NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	namespace := server.Namespace(t, "stored", nil)
	objects := map[string]*unstructured.Unstructured{}
	for kind, crd := range crds {
		if crd.Spec.Group != infrav1.GroupName {
			continue
		}
		storeIn(t, crd.Name, "v1beta1")
		object, err := store(t.Context(), everyField(t, kind, namespace))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		objects[crd.Name] = object
	}
	for name, object := range objects {
		before := object.DeepCopy()
		g.Eventually(func() string { // the server learns the new storage version a moment later
			object.SetAnnotations(map[string]string{"at": time.Now().String()})
			g.Expect(server.Client.Patch(t.Context(), object, client.MergeFrom(before))).To(gomega.Succeed())
			return storedVersionOf(t, name, object)
		}).Should(gomega.Equal("v1beta1"), name)
		storeIn(t, name, "v1beta2")
	}

	account := harness.ProviderAccount()
	g.Expect(server.InstallRoles(t.Context(), account)).To(gomega.Succeed())
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	o.WebhookPort, o.WebhookCertDir, o.HealthAddress = 0, "", "0"
	o.Serving.InsecureDiagnostics, o.Serving.DiagnosticsAddress = true, "0"
	ctrl.SetLogger(klog.Background())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	mgr, err := setup.NewManager(ctx, server.As(account), o)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()

	for name, object := range objects {
		g.Eventually(func() []string {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			g.Expect(server.Client.Get(t.Context(), client.ObjectKey{Name: name}, crd)).To(gomega.Succeed())
			return crd.Status.StoredVersions
		}).Should(gomega.Equal([]string{"v1beta2"}), name)
		g.Expect(storedVersionOf(t, name, object)).To(gomega.Equal("v1beta2"), name)
	}
	stop()
	g.Expect(<-ended).To(gomega.Succeed())
}

// storeIn makes a version the one that objects of a CRD are stored in.
func storeIn(t *testing.T, crd, version string) {
	t.Helper()
	found := &apiextensionsv1.CustomResourceDefinition{}
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: crd}, found); err != nil {
		t.Fatal(err)
	}
	before := found.DeepCopy()
	for i := range found.Spec.Versions {
		found.Spec.Versions[i].Storage = found.Spec.Versions[i].Name == version
	}
	if err := server.Client.Patch(t.Context(), found, client.MergeFrom(before)); err != nil {
		t.Fatalf("store %s in %s: %v", crd, version, err)
	}
}

// storedVersionOf is the version in which etcd has an object.
func storedVersionOf(t *testing.T, crd string, object client.Object) string {
	t.Helper()
	plural, group, _ := strings.Cut(crd, ".")
	stored := &unstructured.Unstructured{}
	if err := stored.UnmarshalJSON(server.Stored(t, group, plural, object.GetNamespace(), object.GetName())); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains([]string{"v1beta1", "v1beta2"}, stored.GroupVersionKind().Version) {
		t.Fatalf("%s is stored as %s", object.GetName(), stored.GroupVersionKind())
	}
	return stored.GroupVersionKind().Version
}
