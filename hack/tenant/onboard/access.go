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

package onboard

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
)

// Seen is how the tenant's cluster sees the API server, where that is not how the
// administrator sees it.
type Seen struct {
	// Server is another URL, CAFile a file with other authorities and ServerName the name in the
	// certificate; empty for those of the administrator's kubeconfig.
	Server, CAFile, ServerName string
}

// AccessOf takes from the administrator's kubeconfig how the API server is reached.
// Nothing of the administrator's own credentials gets into it.
func AccessOf(config *rest.Config, seen Seen) (grant.Access, error) {
	access := grant.Access{Server: seen.Server, ServerName: seen.ServerName}
	if access.Server == "" {
		access.Server = config.Host
		if access.ServerName == "" {
			access.ServerName = config.ServerName
		}
	}
	var err error
	if access.CA, err = authorities(config, seen.CAFile); err != nil {
		return grant.Access{}, err
	}
	return access, access.Check()
}

func authorities(config *rest.Config, file string) ([]byte, error) {
	switch {
	case file != "":
	case config.Insecure:
		return nil, errors.New("the administrator's kubeconfig does not check the API server's certificate, and a token goes to no " +
			"server that is not checked: give --certificate-authority")
	case len(config.CAData) > 0:
		return config.CAData, nil
	case config.CAFile == "":
		return nil, nil // those of the system
	default:
		file = config.CAFile
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificate authorities of the API server: %w", err)
	}
	return content, nil
}
