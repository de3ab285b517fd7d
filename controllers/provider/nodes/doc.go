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

// Package nodes finds the Nodes of a workload cluster that could belong to a machine.
// It reads them through
// Cluster API's ClusterCache, by index, wakes a controller when one changes,
// and patches what a machine's Node lacks. It keeps no connection of its own,
// and never lists all Nodes of a cluster except to match host names.
package nodes
