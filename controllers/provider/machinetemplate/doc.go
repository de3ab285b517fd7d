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

// Package machinetemplate tells the cluster autoscaler what a machine would have before
// there is one: it fills status.capacity and status.nodeInfo of Metal3MachineTemplates
// from the annotations of the template and from what the servers of its machines have
// shown. What is promised is decided in baremetal/provider/capacity.
//
// It also gives the machines of the template the cleaning mode that the template says, as
// CAPM3 does: the mode is about the end of a machine, so a change concerns those that exist.
//
// Nothing else is done for a template. Cluster API itself makes Metal3Machines of it,
// its labels and annotations included.
package machinetemplate
