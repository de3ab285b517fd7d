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

// Command hostsim plays the servers of a dev cluster.
//
// As guest (--mode=guest) it stands beside baremetal-operator, which looks after
// the BareMetalHosts, and boots the machines that are provisioned: it reads what
// would be on their config drives and lets them found and join clusters that it
// serves on loopback addresses. It only reads from the cluster of --kubeconfig.
//
// As host (--mode=host) it stands in for baremetal-operator: it plays the status
// of every BareMetalHost, power, reboots, cleaning, errors and delays included.
// With --mode=all it does both.
package main
