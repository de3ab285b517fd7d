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

// Package secretwatch wakes controllers when Secrets of chosen namespaces change. It
// keeps one metadata-only watch for each namespace that a controller asks for, so that
// a manager without cluster-wide rights on Secrets is still woken by them.
//
// It takes a metadata client and namespaces, and hands namespace and name of a
// changed Secret to each subscribed controller. A namespace whose rights are
// missing is tried again by itself; once it works, and when it works for the
// first time, subscribers get one event with an empty name. A namespace is watched
// until it is released. For a caller that reads a Secret through Outline, it remembers
// what the Secret is, and a hash of what it holds, as long as the watch shows no change. The
// package never caches the content of a Secret and never writes.
package secretwatch
