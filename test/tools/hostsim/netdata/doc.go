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

// Package netdata answers whether a machine with given network cards would come
// up with given OpenStack network data, and with which addresses.
//
// Its inputs are the document of the config drive and the cards that the host's
// inspection found. It checks what would leave a real machine without network:
// links to cards that are not there, networks on links that are not there,
// values that are no addresses. Accept is stricter and checks the whole format, as
// OpenStack defines and cloud-init reads it; it was written from those and knows
// nothing of the renderer. It configures nothing.
package netdata
