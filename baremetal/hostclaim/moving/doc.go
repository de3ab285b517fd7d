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

// Package moving decides whether a paused claim may be moved with its host by
// clusterctl, and what must be written before.
//
// Its inputs are the claim, its host, the kinds that clusterctl would leave behind, and
// the word of the infrastructure team; its answer is one step, with the words for the
// condition Movable. What is written on the host is said by package binding. It performs
// no IO and reads no clock.
package moving
