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

// Package inplace decides what Cluster API's hooks for updates in place are answered: which
// changes of a MachineSet a rebuild of the servers brings about, and what is to be done next for
// a Machine that Cluster API has chosen for such an update. It reads objects as they are, and
// never writes; controllers/provider/inplace carries out.
package inplace
