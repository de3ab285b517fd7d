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

// Package transport answers one question: how does a manager send requests to an API server
// that somebody else chose, and what does it mean when no answer comes?
//
// It takes an Access of baremetal/provider/identity/kubeconfig and limits, and gives HTTP clients: who may
// be dialed, what is sent along, how long an answer may take and how large it may be is
// settled here. Nothing of the process goes along: no file, no setting of the
// environment, no credentials but those of the Access. An error is told in words of
// ours. The package knows no kinds and keeps no answers.
package transport
