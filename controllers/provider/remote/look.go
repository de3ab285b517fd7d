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

package remote

import (
	"context"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
)

// askers is how many questions about rights are under way at a time.
const askers = 4

// right is one verb on one resource.
type right struct {
	group, resource, verb string
}

// rights are what is needed in the namespace of the claims.
func rights() []right {
	var all []right
	for _, resource := range []struct {
		group, name string
		verbs       []string
	}{
		{bmov1alpha1.GroupVersion.Group, "hostclaims", []string{"get", "list", "watch", "create", "patch", "delete"}},
		{bmov1alpha1.GroupVersion.Group, "hardwaredata", []string{"get", "list", "watch"}},
		{"", "secrets", []string{"get", "list", "watch", "create", "patch", "delete"}},
	} {
		for _, verb := range resource.verbs {
			all = append(all, right{resource.group, resource.name, verb})
		}
	}
	return all
}

// look asks the cluster whether the connection can be used: does it answer, does it
// know who asks, does it serve HostClaims and, if that is to be asked too, are all
// rights there. Nil means that it can.
func (c *connection) look(ctx context.Context, target identity.Target, withRights bool) *identity.Problem {
	if problem := c.lookForKinds(ctx, target); problem != nil || !withRights {
		return problem
	}
	asker, err := client.New(c.lookConfig(), client.Options{
		HTTPClient: c.transport.ForLooks(), Scheme: c.registry.kinds.scheme, Mapper: c.registry.kinds.mapper,
	})
	if err != nil {
		return internal(err)
	}
	all := rights()
	answers := make([]error, len(all))
	var asked sync.WaitGroup
	turn := make(chan struct{}, askers)
	for i := range all {
		turn <- struct{}{}
		asked.Go(func() {
			answers[i] = c.ask(ctx, asker, target.Namespace, all[i])
			<-turn
		})
	}
	asked.Wait()
	var missing []right
	for i, err := range answers {
		switch {
		case err == errMissing: //nolint:errorlint // it is never wrapped
			missing = append(missing, all[i])
		case apierrors.IsForbidden(err): // without the right to ask, the first request shows it
		case err != nil:
			return c.transport.Meaning(err)
		}
	}
	if len(missing) > 0 {
		return rightsMissing(target, missing)
	}
	return nil
}

// ask returns errMissing if the right is not there.
func (c *connection) ask(ctx context.Context, asker client.Client, namespace string, r right) error {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: r.verb, Group: r.group, Resource: r.resource,
		}},
	}
	if err := asker.Create(ctx, review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return errMissing
	}
	return nil
}

// lookConfig is for the few requests of looks, which users must not hold up.
func (c *connection) lookConfig() *rest.Config {
	return &rest.Config{Host: c.transport.Server(), QPS: -1, WarningHandler: rest.NoWarnings{}}
}

// lookForKinds asks which kinds the cluster serves.
func (c *connection) lookForKinds(ctx context.Context, target identity.Target) *identity.Problem {
	config := c.lookConfig()
	config.NegotiatedSerializer = serializer.NewCodecFactory(c.registry.kinds.scheme).WithoutConversion()
	asker, err := rest.UnversionedRESTClientForConfigAndClient(config, c.transport.ForLooks())
	if err != nil {
		return internal(err)
	}
	served := &metav1.APIResourceList{}
	err = asker.Get().AbsPath("/apis/" + bmov1alpha1.GroupVersion.String()).Do(ctx).Into(served)
	switch {
	case apierrors.IsNotFound(err):
		return kindMissing(target, "hostclaims", "the hostclaim manager")
	case apierrors.IsForbidden(err): // without the right to ask, the first request shows it
		return nil
	case err != nil:
		return c.transport.Meaning(err)
	}
	switch {
	case !serves(served, "hostclaims"):
		return kindMissing(target, "hostclaims", "the hostclaim manager")
	case !serves(served, "hardwaredata"):
		return kindMissing(target, "hardwaredata", "baremetal-operator")
	}
	return nil
}

func serves(list *metav1.APIResourceList, resource string) bool {
	for _, r := range list.APIResources {
		if r.Name == resource {
			return true
		}
	}
	return false
}
