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

// Package inplace serves Cluster API's hooks for updates in place. It reads the objects of the
// Machine that a request names and carries out what baremetal/inplace decides; the servers are
// written anew by the machine controller. Cluster API calls it repeatedly until an update is done;
// nothing else wakes it. It takes only the name of a Machine from a request: what is to be done
// follows from the objects in the API server.
package inplace
