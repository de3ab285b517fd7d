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

import "time"

// plan says how much of everything is measured.
type plan struct {
	// pools is how many there are, perPool how many addresses each has. There are
	// as many machines as addresses.
	pools, perPool int
	// renderings says for how long, or how often, the data of a machine is rendered,
	// as go test -benchtime takes it.
	renderings string
	// idle is how long nothing happens.
	idle time.Duration
	// quiet is how long nothing must happen before a part is taken to be over, and
	// patience how long any one thing is waited for.
	quiet, patience time.Duration
}

// plans are what --size chooses from.
var plans = map[string]plan{
	"full":   {pools: 10, perPool: 100, renderings: "1s", idle: time.Minute, quiet: 2 * time.Second, patience: 10 * time.Minute},
	"medium": {pools: 5, perPool: 50, renderings: "300ms", idle: 10 * time.Second, quiet: time.Second, patience: 5 * time.Minute},
	"small":  {pools: 2, perPool: 25, renderings: "20x", idle: time.Second, quiet: time.Second, patience: 2 * time.Minute},
}

func (p plan) machines() int { return p.pools * p.perPool }
