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

// Package providerid formats the provider ID of a machine, and parses the machine out
// of a provider ID. The format is
// metal3://<namespace>/<name of the host>/<name of the Metal3Machine>; the
// namespace is that of the Metal3Machine, and only the three parts together are
// unique. The package knows nothing of Nodes and reads no object.
package providerid
