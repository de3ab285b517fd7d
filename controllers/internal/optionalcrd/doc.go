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

// Package optionalcrd answers one question: is a kind that this manager can do
// without, but not always, known to the API server by now?
//
// A kind that is there is watched and indexed, from the start of the controller
// or from the moment when it is first found; one that is not makes no manager
// fail. CRDs are watched by their metadata, so that those who wait for a kind
// are woken when it comes. The package reads no object of those kinds itself.
package optionalcrd
