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

package data

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
)

// endSteps let a deleted Metal3Data go.
type endSteps struct {
	client client.Client
	live   client.Reader
}

// waitForClaim keeps everything while the claim exists: its machine holds it as
// long as the server may use the addresses. That it is gone is read live, since
// nothing that is given back can be taken back.
func (e endSteps) waitForClaim(ctx context.Context, s *scope) progress.Outcome {
	gone, err := datatemplate.ClaimGone(ctx, e.client, s.data)
	if err == nil && gone {
		gone, err = datatemplate.ClaimGone(ctx, e.live, s.data)
	}
	switch {
	case err != nil:
		return progress.Failed(err)
	case !gone:
		return progress.Waiting(infrav1.DeletingReason, fmt.Sprintf(
			"Waiting for Metal3DataClaim %q to be deleted; it stays while its machine exists", datatemplate.ClaimName(s.data)))
	}
	return progress.Outcome{}
}

// dropFinalizer lets the Metal3Data go. The controller of templates writes the
// same list: hence the lock.
func (e endSteps) dropFinalizer(ctx context.Context, data *infrav1.Metal3Data) error {
	before := data.DeepCopy()
	if !controllerutil.RemoveFinalizer(data, infrav1.DataFinalizer) {
		return nil
	}
	return client.IgnoreNotFound(e.client.Patch(ctx, data, apply.Locked(before)))
}
