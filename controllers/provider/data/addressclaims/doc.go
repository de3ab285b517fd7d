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

// Package addressclaims is what the Metal3Data controller knows of the two
// address management APIs, ip-address-manager's and Cluster API's: which claims
// a Metal3Data holds, what they answer, how they are made and given back.
//
// Which pool is asked and what follows from an answer is decided in
// baremetal/provider/data/ippool. Claims are found by their owner, never by their name alone,
// so that those of an earlier Metal3Data of the same name are told apart.
package addressclaims
