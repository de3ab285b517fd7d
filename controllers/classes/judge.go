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

package classes

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// Judge returns what a controller makes of a claim by its class, and the class; nil if the claim names none, or one that
// does not exist.
func Judge(ctx context.Context, reader client.Reader, controller hostclass.Controller, claim *bmov1alpha1.HostClaim,
) (hostclass.Verdict, *hostclaimv1.HostClaimClass, error) {
	name, class := hostclass.Name(claim), &hostclaimv1.HostClaimClass{}
	if name == "" {
		return controller.Judge(claim, nil, nil), nil, nil
	}
	switch err := reader.Get(ctx, client.ObjectKey{Name: name}, class); {
	case apierrors.IsNotFound(err):
		return controller.Judge(claim, nil, nil), nil, nil
	case err != nil:
		return hostclass.Verdict{}, nil, fmt.Errorf("read HostClaimClass %s: %w", name, err)
	}
	namespace, err := watch.ReadNamespace(ctx, reader, claim.Namespace)
	if err != nil {
		return hostclass.Verdict{}, nil, err
	}
	return controller.Judge(claim, class, namespace.Labels), class, nil
}
