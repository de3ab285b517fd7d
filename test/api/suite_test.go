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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

var (
	server harness.Server
	// crds are the CRDs of the provider as config/ finishes them, and those of claims and policies as the hostclaim
	// manager completes them, by kind.
	crds map[string]apiextensionsv1.CustomResourceDefinition
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(finished{m}))
}

// finished runs the tests on the CRDs and webhooks of config/, and on the CRDs of HostClaim and
// HostDeployPolicy of baremetal-operator.
type finished struct{ tests *testing.M }

func (f finished) Run() int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	at, err := harness.NewWebhooks()
	if err != nil {
		fmt.Fprintf(os.Stderr, "webhooks: %v\n", err)
		return 1
	}
	if err := install(ctx, at); err != nil {
		fmt.Fprintf(os.Stderr, "install the CRDs: %v\n", err)
		return 1
	}
	ended, err := serveWebhooks(ctx, at)
	if err != nil {
		fmt.Fprintf(os.Stderr, "serve the webhooks: %v\n", err)
		return 1
	}
	code := f.tests.Run()
	stop()
	if err := <-ended; err != nil {
		fmt.Fprintf(os.Stderr, "webhooks: %v\n", err)
		return 1
	}
	return code
}

func install(ctx context.Context, at harness.Webhooks) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	theirs, err := upstreamCRDs(ctx, repo)
	if err != nil {
		return err
	}
	all, err := manifests.Render(repo.Path("config", "crd"), nil)
	if err := errors.Join(err, at.Serve(all)); err != nil {
		return err
	}
	for _, crd := range theirs {
		if err := setup.Complete(crd); err != nil {
			return err
		}
		all = append(all, crd)
	}
	if crds, err = byKind(all); err != nil {
		return err
	}
	return manifests.Apply(ctx, server.Client, all)
}

func upstreamCRDs(ctx context.Context, repo components.Repo) ([]*unstructured.Unstructured, error) {
	found, err := components.Lookup(components.BareMetalOperator)
	if err != nil {
		return nil, err
	}
	source, err := repo.Source(ctx, found[0])
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range []string{"metal3.io_hostclaims.yaml", "metal3.io_hostdeploypolicies.yaml"} {
		text, err := os.ReadFile(filepath.Join(source, "config", "base", "crds", "bases", name))
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func byKind(objects []*unstructured.Unstructured) (map[string]apiextensionsv1.CustomResourceDefinition, error) {
	found := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, object := range objects {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
			return nil, fmt.Errorf("read %s: %w", object.GetName(), err)
		}
		found[crd.Spec.Names.Kind] = crd
	}
	return found, nil
}
