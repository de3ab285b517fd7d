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

package hostclaim

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// version is the one version of a CustomResourceDefinition.
func version(crd *unstructured.Unstructured) map[string]any {
	return crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
}

// columns are the names of the columns that kubectl shows.
func columns(crd *unstructured.Unstructured) []string {
	var names []string
	shown, _ := version(crd)["additionalPrinterColumns"].([]any)
	for _, column := range shown {
		names = append(names, column.(map[string]any)["name"].(string))
	}
	return names
}

func (w *world) readDefinition(kind string) *unstructured.Unstructured {
	w.T.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	w.OK(server.Client.Get(context.Background(), client.ObjectKey{Name: kind + ".metal3.io"}, crd))
	return crd
}

// installDefinition changes a definition as another release of baremetal-operator would, until the test ends.
func (w *world) installDefinition(kind string, change func(crd *unstructured.Unstructured)) {
	w.T.Helper()
	before := w.readDefinition(kind)
	w.T.Cleanup(func() {
		now := w.readDefinition(kind)
		restored := now.DeepCopy()
		restored.SetLabels(before.GetLabels())
		restored.Object["spec"] = before.Object["spec"]
		w.OK(server.Client.Patch(context.Background(), restored, client.MergeFrom(now)))
	})
	now := before.DeepCopy()
	change(now)
	w.OK(server.Client.Patch(w.Ctx, now, client.MergeFrom(before)))
}

// The schema of a definition is baremetal-operator's, columns and label are the manager's, whichever comes last.
func TestDefinitionsAreCompletedAndNotReplaced(t *testing.T) {
	newer := func(crd *unstructured.Unstructured) {
		crd.SetLabels(nil)
		version(crd)["additionalPrinterColumns"] = []any{
			map[string]any{"name": "Newer", "type": "string", "jsonPath": ".spec.newer"},
			map[string]any{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
		}
		expect.NoError(t, unstructured.SetNestedField(version(crd), "string", fieldNewer...))
	}
	for name, play := range map[string]func(w *world, kind string){
		"the manager comes after": func(w *world, kind string) {
			w.installDefinition(kind, newer)
			w.manager()
		},
		"the manager runs before": func(w *world, kind string) {
			w.manager()
			w.G.Eventually(func() []string { return columns(w.readDefinition(kind)) }).Should(gomega.ContainElement("Age"))
			w.installDefinition(kind, newer)
		},
	} {
		for kind, want := range map[string]struct {
			columns []string
			labeled bool
		}{
			"hostclaims": {
				[]string{"Phase", "Host", "Power", "Ready", "Reason", "Host namespace", "Consumer", "Admitted", "Message", "Age", "Newer"}, true,
			},
			"hostdeploypolicies": {[]string{
				"Names", "Name matches", "Labels", "Images", "Custom deploy", "Published labels", "Published annotations", "Deleting", "Age", "Newer",
			}, false},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				w := makeWorld(t)
				play(w, kind)
				w.G.Eventually(func() []string { return columns(w.readDefinition(kind)) }).Should(gomega.Equal(want.columns))
				found := w.readDefinition(kind)
				_, labeled := found.GetLabels()["clusterctl.cluster.x-k8s.io"]
				w.G.Expect(labeled).To(gomega.Equal(want.labeled))
				_, kept, err := unstructured.NestedString(version(found), fieldNewer...)
				w.OK(err)
				w.G.Expect(kept).To(gomega.BeTrue())
			})
		}
	}
}

// fieldNewer is where the schema tells the type of a field that only a newer release has.
var fieldNewer = []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "newer", "type"}

// A host has fields of baremetal-operator 0.14, which the manager does not know. Each of its writes keeps them.
func TestFieldsOfANewerReleaseSurvive(t *testing.T) {
	w := makeWorld(t).withRights().withHosts("host-0").withBoot()
	repo, err := components.FindRepo(".")
	w.OK(err)
	file, err := os.ReadFile(repo.Path("hack", "devcluster", "manager", "baremetal-operator-0.14", "crd", "baremetalhosts.yaml"))
	w.OK(err)
	newer := &unstructured.Unstructured{}
	w.OK(yaml.Unmarshal(file, &newer.Object))
	w.installDefinition("baremetalhosts", func(crd *unstructured.Unstructured) { crd.Object["spec"] = newer.Object["spec"] })

	spec := `{"networkInterfaces":[{"name":"eth0","hostNetworkAttachment":{"name":"net"}}],` +
		`"raid":{"softwareRAIDVolumes":[{"level":"1","rootVolume":true}]}}`
	status := `{"provisioningFailCount":2,"lastAttemptedImage":{"url":"http://images/former","checksum":"abc"}}`
	read := func() *unstructured.Unstructured {
		host := &unstructured.Unstructured{}
		host.SetGroupVersionKind(bmov1alpha1.GroupVersion.WithKind("BareMetalHost"))
		w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.infra, Name: "host-0"}, host))
		return host
	}
	lacks := func() []string {
		host := read()
		return slices.Concat(lost(t, spec, host.Object["spec"]), lost(t, status, host.Object["status"]))
	}
	w.G.Eventually(func() []string { // the API server serves the new schema a moment later
		w.OK(w.Patch(w.Ctx, read(), client.RawPatch(types.MergePatchType, []byte(`{"spec":`+spec+`}`))))
		w.OK(w.Status().Patch(w.Ctx, read(), client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))))
		return lacks()
	}).Should(gomega.BeEmpty())
	w.manager()
	w.served()
	w.G.Expect(lacks()).To(gomega.BeEmpty())
	w.givenBack("host-0")
	w.G.Expect(lacks()).To(gomega.BeEmpty())
}

// lost lists the fields that a part of an object does not have as they were written.
func lost(t *testing.T, written string, part any) (paths []string) {
	t.Helper()
	want := map[string]any{}
	expect.NoError(t, json.Unmarshal([]byte(written), &want))
	text, err := json.Marshal(part)
	expect.NoError(t, err)
	got := map[string]any{}
	expect.NoError(t, json.Unmarshal(text, &got))
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if !equality.Semantic.DeepEqual(want[key], got[key]) {
			paths = append(paths, fmt.Sprintf("%s: %v", key, got[key]))
		}
	}
	return paths
}
