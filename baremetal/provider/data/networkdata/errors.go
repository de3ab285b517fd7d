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

package networkdata

import (
	"fmt"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
)

// TemplateError says that an item of a template cannot be rendered so that
// cloud-init would understand it.
type TemplateError struct {
	// Problem is what is wrong, with the value that is wrong.
	Problem string
	// Remedy is what the author of the template can do about it.
	Remedy string
}

func (e TemplateError) Error() string {
	return e.Problem + ": " + e.Remedy
}

// PoolError says that the answer of a pool does not fit where it is used.
type PoolError struct {
	// Address is what the pool was asked for.
	Address facts.AddressRef
	// Problem is what is wrong with its answer.
	Problem string
	// Remedy is what the owner of the pool can do about it.
	Remedy string
}

func (e PoolError) Error() string {
	return fmt.Sprintf("pool %q %s: %s", e.Address.Pool, e.Problem, e.Remedy)
}
