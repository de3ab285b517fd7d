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

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// side is one of the dev clusters of a story.
type side struct {
	*stack.Stack

	tenant  *story.Tenant
	admin   client.Client
	world   *world.World
	history *history
	// operator are the processes of baremetal-operator while it is stopped.
	operator map[string]*manager.Running
}

// newSide starts a dev cluster like that of this package, with these managers.
func newSide(t *testing.T, dir string, run []manager.Manager) *side {
	t.Helper()
	s := newUnwatchedSide(t, dir, run)
	s.watch(t)
	return s
}

// newUnwatchedSide does so where the kinds that are watched may be missing.
func newUnwatchedSide(t *testing.T, dir string, run []manager.Manager) *side {
	t.Helper()
	started, err := stack.Up(t.Context(), stack.Options{Repo: lab.Repo, Dir: dir, Managers: managers(run), Built: true, Out: console.New(t.Output())})
	expect.NoError(t, err)
	s := &side{Stack: started}
	t.Cleanup(func() {
		err := started.Group.Stop()
		expect.That(t, err == nil, "%v", err)
		if t.Failed() {
			// They are kept with those of the dev cluster of this package.
			expect.NoError(t, os.Rename(filepath.Join(dir, "logs"), filepath.Join(lab.dir, "logs", filepath.Base(dir))))
		}
	})
	s.admin, err = client.New(started.Admin, client.Options{Scheme: lab.admin.Scheme()})
	expect.NoError(t, err)
	return s
}

func (s *side) watch(t *testing.T) {
	t.Helper()
	var err error
	s.history, err = record(t.Context(), s.Admin, lab.admin.Scheme())
	expect.NoError(t, err)
	s.world, err = world.Open(t.Context(), s.Admin)
	expect.NoError(t, err)
}

// stopOperator takes baremetal-operator away from this side, as the documentation asks for. Hosts can
// be written only if the API server does without its webhook.
func (s *side) stopOperator(t *testing.T) {
	t.Helper()
	s.failurePolicy(t, admissionv1.Ignore)
	s.operator = map[string]*manager.Running{}
	for _, name := range []string{components.BareMetalOperator, components.BMOWebhooks} {
		if running, found := s.Running[name]; found {
			expect.NoError(t, s.Group.StopOne(name))
			s.operator[name] = running
			// It has not crashed.
			delete(s.Running, name)
		}
	}
}

// startOperator starts it if it was stopped.
func (s *side) startOperator(t *testing.T) {
	t.Helper()
	if s.operator == nil {
		return
	}
	for name, stopped := range s.operator {
		expect.NoError(t, stopped.Start(t.Context(), s.Cluster))
		s.Running[name] = stopped
	}
	s.operator = nil
	s.failurePolicy(t, admissionv1.Fail)
}

// failurePolicy sets whether writes to hosts and claims fail while baremetal-operator does not answer.
func (s *side) failurePolicy(t *testing.T, policy admissionv1.FailurePolicyType) {
	t.Helper()
	c, err := client.New(s.Admin, client.Options{})
	expect.NoError(t, err)
	webhooks := &unstructured.Unstructured{}
	webhooks.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"))
	webhooks.SetName("baremetal-operator-validating-webhook-configuration")
	expect.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(webhooks), webhooks))
	before := webhooks.DeepCopy()
	for _, entry := range webhooks.Object["webhooks"].([]any) {
		if hook := entry.(map[string]any); slices.Contains([]any{"baremetalhost.metal3.io", "hostclaim.metal3.io"}, hook["name"]) {
			hook["failurePolicy"] = string(policy)
		}
	}
	expect.NoError(t, c.Patch(t.Context(), webhooks, client.MergeFrom(before)))
}

// labelKinds puts the label on CRDs by which clusterctl finds what to move, or takes it off with nil.
func labelKinds(t *testing.T, s *stack.Stack, value any, names ...string) {
	t.Helper()
	c := definitions(t, s.Admin)
	for _, name := range names {
		merge(t, c, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}},
			map[string]any{"labels": map[string]any{clusterctlv1.ClusterctlLabel: value}})
	}
}

// annotate sets an annotation as kubectl would, or takes it off where value is nil.
func annotate(t *testing.T, c client.Client, object client.Object, key string, value any) {
	t.Helper()
	merge(t, c, object.DeepCopyObject().(client.Object), map[string]any{"annotations": map[string]any{key: value}})
}

func merge(t *testing.T, c client.Client, object client.Object, metadata map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	expect.NoError(t, err)
	expect.NoError(t, c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, patch)))
}
