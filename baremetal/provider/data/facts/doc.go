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

// Package facts holds what a data template may refer to when it is rendered for
// one machine.
//
// These are the names, labels, annotations, interfaces and addresses of that
// machine and its server; the package looks them up by the words of a template. A
// missing fact is a typed error that names the fact and the remedy.
// The package renders nothing and reads nothing from an API server.
package facts
