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

// Package fairqueue is a work queue that shares the workers of a controller between
// namespaces, so that the objects of one tenant do not hold up those of another.
//
// It takes the number of workers, and which connection to another server a pass over an
// object uses. Namespaces take turns, and may be limited to some of the workers; within one, what has begun goes before what has not,
// three to one. A pass that would have to wait for its connection stays in the queue instead of holding a worker. The queue is client-go's, with its
// metrics; only the order is its own. It knows no kinds and reconciles nothing.
package fairqueue
