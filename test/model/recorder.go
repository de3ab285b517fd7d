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

package model

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recorder reads the events that the manager gives.
type recorder struct{ world *World }

// Eventf checks that an event discloses nothing of another tenant.
//
//nolint:revive // The signature is that of events.EventRecorder.
func (r recorder) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	object, ok := regarding.(client.Object)
	if !ok {
		return
	}
	text := fmt.Sprintf(note, args...)
	r.world.tracef("event on %s %s: %s", object.GetNamespace(), object.GetName(), reason)
	r.world.count("event " + reason)
	if !r.world.infraNamespace(object.GetNamespace()) {
		r.world.mindText("event "+reason, object.GetNamespace(), text)
	}
}
