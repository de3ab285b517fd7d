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

// Package api tests the API as a real API server serves it.
//
// It asks: which manifests does the server take, what does it answer to those
// that it refuses, which changes does it let through, does every field come back
// as it was sent, and what does kubectl show? The CRDs and the webhooks are the
// finished ones of config/; no controller runs.
package api
