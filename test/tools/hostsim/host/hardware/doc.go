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

// Package hardware answers what an inspection finds in a simulated server: a little
// less than 8 KiB of facts, as a server with a few disks and cards has, the same
// each time for a host of that namespace and name, and different between any two.
//
// Its input is the BareMetalHost. The first card is the one that the host boots
// from.
package hardware
