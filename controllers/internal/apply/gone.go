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

package apply

import "sigs.k8s.io/controller-runtime/pkg/client"

// IgnoreGone forgets that the patch of an object met nothing to patch, if the
// object was being deleted: its last finalizer came off in an earlier pass that
// the cache has not shown yet.
func IgnoreGone(object client.Object, err error) error {
	if object.GetDeletionTimestamp().IsZero() {
		return err
	}
	return client.IgnoreNotFound(err)
}
