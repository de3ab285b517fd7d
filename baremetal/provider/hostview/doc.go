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

// Package hostview has what the machine's owner, its templates and its Node need to
// know about the server behind it.
//
// The only source is the HardwareData that the other side of the boundary
// publishes for a HostClaim. Nothing here knows of claims, hosts or clusters,
// and nothing is read from an API server.
package hostview
