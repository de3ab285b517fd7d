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

// Package transport sends requests to an API server that a tenant chose. It takes an
// Access of baremetal/provider/identity/kubeconfig and limits, and returns HTTP clients
// that bound time, size and concurrency, refuse denied addresses and follow no
// redirects.
//
// Requests carry the credentials of the Access and nothing else of this process: no
// file, no proxy or other setting of the environment. Errors are told in our own words,
// never in those of the server. The package knows no kinds and keeps no responses.
package transport
