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

// Package manifests turns the manifests of a manager into what a cluster without
// pods can use.
//
// It renders a kustomization with the defaults of its variables, reads account and
// arguments from its Deployment, and points its webhooks at URLs, since there are no
// Services. Only Apply talks to an API
// server; everything else is a function of its arguments and the files read.
package manifests
