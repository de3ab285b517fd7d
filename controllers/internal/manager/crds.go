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

package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// CRD is a CustomResourceDefinition that a manager cannot do without.
type CRD struct {
	// Name of the CRD, and the Kind that it serves, in the version that is used.
	Name string
	Kind schema.GroupVersionKind
	// Remedy is how it is installed.
	Remedy string
}

// RequireCRDs returns an error that names each CRD that is missing, or does not serve the version that is
// used, and its remedy. A manager ends with it and is started again, instead of waiting for caches that
// never sync.
func RequireCRDs(config *rest.Config, crds ...CRD) error {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("connect to the API server (is the kubeconfig right?): %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return fmt.Errorf("connect to the API server (is the kubeconfig right?): %w", err)
	}
	return requireCRDs(mapper, crds)
}

func requireCRDs(mapper meta.RESTMapper, crds []CRD) error {
	var missing []error
	for _, crd := range crds {
		_, err := mapper.RESTMapping(crd.Kind.GroupKind(), crd.Kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			missing = append(missing, fmt.Errorf("CRD %s does not exist or does not serve %s of version %s: %s",
				crd.Name, crd.Kind.Kind, crd.Kind.Version, crd.Remedy))
		case err != nil:
			return fmt.Errorf("ask the API server which kinds it serves (is the kubeconfig right, and the server up?): %w", err)
		}
	}
	return errors.Join(missing...)
}

// discoverLabel is on the CRDs whose objects clusterctl move takes along. clusterctl
// init adds it to what it installs; kubectl apply adds nothing.
const discoverLabel = "clusterctl.cluster.x-k8s.io"

// WarnUnmovable logs which of the CRDs clusterctl move would not look at, with the
// command that mends it. Nothing but a move needs the label, so that the manager runs
// without it, and a CRD that cannot be read is passed over.
func WarnUnmovable(ctx context.Context, config *rest.Config, crds ...string) {
	log := ctrl.LoggerFrom(ctx)
	c, err := client.New(config, client.Options{})
	if err != nil {
		log.V(4).Info("The CRDs cannot be read, so that nothing is known of their labels", "reason", err.Error())
		return
	}
	unlabeled, err := unmovable(ctx, c, crds)
	if err != nil {
		log.V(4).Info("Some CRDs cannot be read, so that nothing is known of their labels", "reason", err.Error())
	}
	if len(unlabeled) > 0 {
		log.Info("clusterctl move would leave the objects of some kinds behind, since their CRDs lack a label",
			"remedy", fmt.Sprintf("kubectl label crd %s %s=", strings.Join(unlabeled, " "), discoverLabel))
	}
}

// unmovable lists the CRDs that exist without the label, in the order given. Those that
// cannot be read are in the error.
func unmovable(ctx context.Context, reader client.Reader, crds []string) ([]string, error) {
	var unlabeled []string
	var unknown []error
	for _, name := range crds {
		crd := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
			APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
		}}
		err := reader.Get(ctx, client.ObjectKey{Name: name}, crd)
		if client.IgnoreNotFound(err) != nil {
			unknown = append(unknown, fmt.Errorf("read CRD %s: %w", name, err))
			continue
		}
		if _, labeled := crd.Labels[discoverLabel]; err == nil && !labeled {
			unlabeled = append(unlabeled, name)
		}
	}
	return unlabeled, errors.Join(unknown...)
}
