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

// Package nodematch finds the Node of the workload cluster that runs on the server
// of a machine. It looks at provider ID, then at the label
// with the UID of the host, then, where the machine allows it, at the host
// name, and it would rather find no Node than a wrong one. It performs no IO:
// the caller brings the Nodes that could be meant.
package nodematch
