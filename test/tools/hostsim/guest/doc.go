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

// Package guest plays the operating systems of servers whose power and
// provisioning baremetal-operator looks after, in its demo mode for instance.
//
// It watches BareMetalHosts. When one is provisioned it reads, once, the secrets next to the host
// that would be on its config drive, and lets the machine do what its user data asks for, as long
// as the host is powered on:
//
//	BareMetalHost ─▶ deployment ─▶ Next ─▶ install, boot, power on or off, wipe
//	                                         └─ configdrive, cloudinit, kubeadm, netdata ─▶ workload
//
// A machine whose drive is unusable stays dead until it is provisioned anew; one
// log line names host, secret, key and reason. Nothing is ever written to the
// management cluster.
package guest
