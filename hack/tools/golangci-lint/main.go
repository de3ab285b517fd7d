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

// Command golangci-lint is golangci-lint with kube-api-linter built in, which it
// otherwise offers only as a plugin. `make lint-api` enables it; see
// docs/adr/0004-api-linter.md.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
	_ "sigs.k8s.io/kube-api-linter" // registers itself
)

func main() {
	if err := commands.Execute(commands.BuildInfo{GoVersion: runtime.Version(), Version: "devel"}); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(exitcodes.Failure)
	}
}
