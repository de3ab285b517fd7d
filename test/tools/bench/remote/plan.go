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
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// plan says how much of everything is measured.
type plan struct {
	// identities is how many there are, each how many machines every one has.
	identities, each int
	// changes is how many claims are changed one after the other.
	changes int
	// idle is how long nothing happens.
	idle time.Duration
	// quiet is how long nothing must happen before a part is taken to be over, and
	// patience how long any one thing is waited for.
	quiet, patience time.Duration
}

// plans are what --size chooses from.
var plans = map[string]plan{
	"full":   {identities: 100, each: 10, changes: 300, idle: time.Minute, quiet: 2 * time.Second, patience: 10 * time.Minute},
	"medium": {identities: 25, each: 10, changes: 100, idle: 10 * time.Second, quiet: time.Second, patience: 5 * time.Minute},
	"small":  {identities: 4, each: 3, changes: 5, idle: time.Second, quiet: 300 * time.Millisecond, patience: 2 * time.Minute},
}

func (p plan) machines() int { return p.identities * p.each }

// key is the n-th machine; those of one identity do not follow one another.
func (p plan) key(n int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace(n % p.identities), Name: fmt.Sprintf("machine-%03d", n/p.identities)}
}

// namespace is that of an identity, of the same name in both clusters.
func namespace(identity int) string {
	return fmt.Sprintf("bench-%03d", identity)
}

// with says of how much a figure is.
func (p plan) with() string {
	return fmt.Sprintf("%d identities with %d machines each", p.identities, p.each)
}
