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

package secretwatch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// ReleaseTenant stops the watch of a namespace in which neither a Metal3Machine
// nor a Metal3Data is left: nobody else of the provider manager needs Secrets.
// Controllers of these kinds call it when they find an object gone. The reader
// is the cache that they reconcile from.
func (w *Watch) ReleaseTenant(ctx context.Context, reader client.Reader, namespace string) error {
	return w.Release(namespace, func() (bool, error) {
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
