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

// Package conditions has what controllers share about conditions.
package conditions

// Wait is what an object waits for, in the words of a condition. The zero value is no wait.
type Wait struct {
	// Reason is the CamelCase reason of the condition.
	Reason string
	// Message tells the owner of the object what is missing, and what to do about it.
	Message string
}
