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

// Package crdschema checks objects of our kinds as an API server would before it stores
// them.
//
// It reads the CRD of the kind and applies its defaults, its schema and its rules as
// kube-apiserver does, with the same code, where there is no API server: in the
// preview of data templates, and in fuzz tests. It knows nothing of webhooks and of
// changes to objects that exist.
package crdschema
