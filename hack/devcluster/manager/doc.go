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

// Package manager runs controller managers beside a control plane, as processes
// instead of pods.
//
// It carries out a manager's manifest without a kubelet. The
// namespace, account, roles, CRDs and webhook configurations are installed as
// they are in life; its Deployment is read for the account and the arguments and
// then left out. The manager gets a token of its own service account, so that a
// missing right shows here too, and a certificate for its webhooks.
//
// One table lists the managers. It knows nothing of what they reconcile.
package manager
