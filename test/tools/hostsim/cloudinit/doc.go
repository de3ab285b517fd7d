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

// Package cloudinit answers what cloud-init would make of a config drive: which
// values a Jinja user data template may use, how it renders, and which files
// and commands the rendered cloud-config asks for.
//
// Its inputs are the raw user data and the metadata of the drive. Only the part
// of cloud-init that bootstrap providers rely on is there: `{{ … }}` lookups,
// write_files and runcmd. Anything else that would change the outcome is
// refused by name; nothing is ever executed.
package cloudinit
