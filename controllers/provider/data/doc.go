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

// Package data turns a Metal3Data into the secrets with the metadata and the
// network data of one machine:
//
//	observe  template, claim, machine, secrets ─▶ host ─▶ pools
//	decide   baremetal/provider/data/ippool: next step for each pool; baremetal/provider/data/metadata and
//	         baremetal/provider/data/networkdata: what the secrets hold
//	act      claims on pools, then secrets
//	report   conditions, ready, errorMessage
//
// A secret that exists is never rewritten, since the server has read it or is
// about to. Addresses are given back when the Metal3DataClaim is gone, and not
// before. Secrets are read live and never logged. The package knows nothing of
// HostClaims: what it needs of the server comes as a hostview.Host.
package data
