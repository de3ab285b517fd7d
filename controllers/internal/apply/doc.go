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

// Package apply writes objects that a controller makes by server-side apply: the
// whole object as it should be, under the controller's one field owner. It
// drops what a client must not write, and nothing else; it decides nothing. What
// controllers share about patches is here too: the locked one, the patches at the end
// of a pass, and what the last patch of a deleted object may meet.
package apply
