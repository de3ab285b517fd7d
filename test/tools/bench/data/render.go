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

package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
)

var perRendering = regexp.MustCompile(`(?m)^BenchmarkRender\S*\s+\d+\s+([0-9.]+) ns/op`)

// rendering measures how long both documents of one machine take: BenchmarkRender,
// on templates that use everything there is. It is asked several times and the
// fastest answer counts: whatever else the machine does can only make it slower.
func (b *bench) rendering(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "test", "-C", repo.Path("baremetal", "provider", "data"),
		"-run=^$", "-bench=^BenchmarkRender$", "-count=5", "-benchtime="+b.renderings, ".")
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("BenchmarkRender: %w\n%s", err, out)
	}
	fastest := math.Inf(1)
	for _, found := range perRendering.FindAllSubmatch(out, -1) {
		nanoseconds, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return fmt.Errorf("BenchmarkRender: %w", err)
		}
		fastest = min(fastest, nanoseconds/1e6)
	}
	if math.IsInf(fastest, 1) {
		return fmt.Errorf("BenchmarkRender gave no figure:\n%s", out)
	}
	b.Figures.Expect("rendering the data of one machine", fastest, "ms", 1)
	return nil
}
