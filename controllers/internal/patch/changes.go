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

package patch

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Changes writes what a pass changed on an object: metadata and spec in one
// request, then the whole status in another, each only if it differs. Both fail
// with a conflict if the object was written since it was read. An object that is
// being deleted may be gone, and goes with its last finalizer: then its status is
// not written. Conditions that were set with the generation that was read get the one
// that the first request makes, since nothing but the pass has changed the spec. Neither
// version is changed. It returns the resourceVersion that the object has then.
func Changes(ctx context.Context, writer client.Client, before, after client.Object) (version string, err error) {
	version = before.GetResourceVersion()
	if reflect.DeepEqual(before, after) {
		return version, nil // most passes change nothing, and a comparison as JSON costs more than all the rest of one
	}
	diff, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return version, fmt.Errorf("compare two versions of %s: %w", after.GetName(), err)
	}
	var changed map[string]json.RawMessage
	if err := json.Unmarshal(diff, &changed); err != nil {
		return version, fmt.Errorf("read the changes of %s: %w", after.GetName(), err)
	}
	_, reported := changed["status"]
	delete(changed, "status")

	base, written := before.DeepCopyObject().(client.Object), after.DeepCopyObject().(client.Object) //nolint:errcheck // a copy has the type of its original
	if len(changed) > 0 {
		if err := writer.Patch(ctx, written, Locked(base)); err != nil {
			return version, ignoreGone(after, err)
		}
		version = written.GetResourceVersion()
		base.SetResourceVersion(version)
		after = observed(after, before.GetGeneration(), written.GetGeneration())
	}
	ended := !after.GetDeletionTimestamp().IsZero() && len(after.GetFinalizers()) == 0
	if !reported || ended {
		return version, nil
	}
	written = after.DeepCopyObject().(client.Object) //nolint:errcheck // see above
	if err := writer.Status().Patch(ctx, written, Locked(base)); err != nil {
		return version, ignoreGone(after, err)
	}
	return written.GetResourceVersion(), nil
}

// observed is a copy of the object whose conditions have observed the newer generation
// where they had observed the older one.
func observed(object client.Object, older, newer int64) client.Object {
	object = object.DeepCopyObject().(client.Object) //nolint:errcheck // a copy has the type of its original
	conditioned, found := object.(conditions.Setter)
	if !found {
		return object
	}
	all := conditioned.GetConditions()
	for i := range all {
		if all[i].ObservedGeneration == older {
			all[i].ObservedGeneration = newer
		}
	}
	conditioned.SetConditions(all)
	return object
}
