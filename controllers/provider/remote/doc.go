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

// Package remote connects objects with an identityRef to the cluster that holds their
// hosts, and says why a connection cannot be used.
//
// It takes identityRefs and the Secrets that they name, and gives each user a Site:
// cached reads and live writes in one namespace of the remote cluster. Users with the
// same credentials share one connection, which runs in a goroutine of its own. Asking
// for a Site never waits for the network; users are woken when it changes. The package
// writes nothing by itself, keeps no content of Secrets, and follows only what
// baremetal/provider/identity/kubeconfig permits.
package remote
