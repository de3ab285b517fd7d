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
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Need is a kind that must exist.
type Need struct {
	// Kind is the kind in the version that is used.
	Kind schema.GroupVersionKind
	// CRD is the name of its CustomResourceDefinition.
	CRD string
	// Remedy says how the CRD is installed.
	Remedy string
}

// MissingError is a kind that the cluster does not know.
type MissingError struct {
	Need Need
}

// Error names the CRD, the version and the remedy.
func (e *MissingError) Error() string {
	return fmt.Sprintf("CRD %s does not exist or does not serve %s of version %s: %s",
		e.Need.CRD, e.Need.Kind.Kind, e.Need.Kind.Version, e.Need.Remedy)
}

// recheck is how often Await looks again. Nothing can be watched at that point:
// the caches of a manager do not start before the kinds exist, and a manager
// need not have the right to watch CRDs.
const recheck = 2 * time.Second

// Await returns once the API server of config answers and knows all kinds. It
// comes before a manager is made, whose caches would only say that a kind has no
// match. What is missing is logged once, and again when it changes, so that
// the administrator can install it without restarting the manager. A config that
// cannot be used at all, and the end of ctx, are errors.
func Await(ctx context.Context, config *rest.Config, needs ...Need) error {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("connect to the API server (is the kubeconfig right?): %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return fmt.Errorf("connect to the API server (is the kubeconfig right?): %w", err)
	}
	return await(ctx, mapper, clock.RealClock{}, needs)
}

func await(ctx context.Context, mapper meta.RESTMapper, clk clock.WithTicker, needs []Need) error {
	ticker := clk.NewTicker(recheck)
	defer ticker.Stop()
	said := ""
	for {
		err := RequireKinds(mapper, needs...)
		if err == nil {
			return nil
		}
		if err.Error() != said {
			said = err.Error()
			ctrl.LoggerFrom(ctx).Info("Waiting for the cluster to be ready for this manager", "missing", strings.Split(said, "\n"))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster did not become ready for this manager: %w", err)
		case <-ticker.C():
		}
	}
}

// RequireKinds returns nil if the cluster knows all kinds, and otherwise a
// MissingError for each that it does not know, joined. An API server that does
// not answer is another error.
func RequireKinds(mapper meta.RESTMapper, needs ...Need) error {
	var missing []error
	for _, need := range needs {
		_, err := mapper.RESTMapping(need.Kind.GroupKind(), need.Kind.Version)
		switch {
		case err == nil:
		case meta.IsNoMatchError(err):
			missing = append(missing, &MissingError{Need: need})
		default:
			return fmt.Errorf("ask the API server which kinds it knows (is the kubeconfig right, and the server up?): %w", err)
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
