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

// Package addressclaims reads and writes the claims of a Metal3Data in the two
// address management APIs, ip-address-manager's and Cluster API's.
//
// Which pool is asked and what follows from an answer is decided in
// baremetal/provider/data/ippool. Claims are found by their owner, never by their name alone,
// so that those of an earlier Metal3Data of the same name are told apart.
package addressclaims
