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

package configdrive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Contents are the three parts of a config drive as they stand in their secrets;
// a part that the host has no reference for is empty.
type Contents struct {
	UserData, MetaData, NetworkData string
}

// Hash tells contents apart; that of an empty drive is empty.
func (c Contents) Hash() string {
	if c == (Contents{}) {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.UserData, c.MetaData, c.NetworkData))
	return hex.EncodeToString(sum[:])
}
