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

package identity

import (
	"net/url"
	"strings"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Place names a target to people, and is what they confirm it by.
func (t Target) Place() string {
	return strings.TrimSuffix(t.Server, "/") + "/" + t.Namespace
}

// Follow returns the record as it should be now that its credentials lead to the
// target. Other certificate authorities at the same address are rotation. Another
// address or namespace may be a mistake that would leave the claim, and its
// server, behind: it is a problem until it is confirmed by its Place.
func (r Record) Follow(now Target, confirmed string) (Record, *Problem) {
	if now.Namespace != r.Namespace || canonical(now.Server) != canonical(r.Server) {
		if confirmed != now.Place() {
			return r, Moved.Problem(r.Secret, now.Place(), r.Place(), infrav1.ConfirmIdentityMoveAnnotation, now.Place())
		}
	}
	r.Target = now
	return r, nil
}

// canonical spells the address of a server in one way.
func canonical(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return server
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), ":443")
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u.String()
}
