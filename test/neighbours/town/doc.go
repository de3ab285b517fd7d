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

// Package town is where hostile tenants and an honest one live side by side: an API
// server, both managers as processes of their own under the accounts of their
// manifests, hosts, and a policy that lets every tenant claim them.
//
// It measures how long machines wait and what the managers take meanwhile; the suite
// of neighbors and its benchmark decide who lives there and what must hold.
package town
