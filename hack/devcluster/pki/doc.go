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

// Package pki makes the certificates of a dev cluster.
//
// With them the API server, its clients and the webhooks know each other. One authority
// signs everything and is thrown away with the
// cluster. Private keys lie in the state folder readable by their owner only;
// nothing here is fit for a cluster that outlives a day.
package pki
