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

// Package onboard carries out what package grant has worked out: it creates the
// objects in the cluster with the hosts, has a token issued, and applies the Secret
// in the tenant's cluster or hands it to the caller.
//
// Running it again changes what differs and issues a new token. No token is in an
// error or a message.
package onboard
