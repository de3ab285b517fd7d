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

// Package cluster tells Cluster API when the machines of a Cluster may come:
// once the control plane endpoint is known, be it given by the Metal3Cluster or
// by another controller or a user. It copies failure domains to where Cluster API looks for
// them, and holds a Metal3Cluster until its machines are gone. There is nothing
// to build: the servers are those of the machines.
package cluster
