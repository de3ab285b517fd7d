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

// Package tenantsecrets ends the watch on the Secrets of a tenant's namespace when
// nothing in that namespace needs it any more.
//
// The controllers of Metal3Machine and Metal3Data and the connections to other
// clusters start such watches. Each calls Release when its last object of a namespace
// may be gone. The package reads Metal3Machines and Metal3Data from the cache and
// writes nothing.
package tenantsecrets

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
)

// Release stops the watch of a namespace in which neither a Metal3Machine nor a
// Metal3Data is left, and which no connection to another cluster holds. The reader is
// the cache that the caller reconciles from. If it cannot be read, the watch stays.
func Release(ctx context.Context, watch *secretwatch.Watch, reader client.Reader, namespace string) error {
	return watch.Release(namespace, func() (bool, error) {
		for _, users := range []client.ObjectList{&infrav1.Metal3MachineList{}, &infrav1.Metal3DataList{}} {
			err := reader.List(ctx, users, client.InNamespace(namespace), client.Limit(1), client.UnsafeDisableDeepCopy)
			if err != nil {
				return false, fmt.Errorf("list %T of namespace %s: %w", users, namespace, err)
			}
			if meta.LenList(users) > 0 {
				return true, nil
			}
		}
		return false, nil
	})
}
