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
	"cmp"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/cloudinit"
)

// FirstBoot reads a config drive as cloud-init does: what it would run, and the hostname.
func FirstBoot(host *bmov1alpha1.BareMetalHost, parts Contents) (cloudinit.Config, string, error) {
	metaData, err := MetaData(host, []byte(parts.MetaData))
	if err != nil {
		return cloudinit.Config{}, host.Name, err
	}
	hostname := cmp.Or(cloudinit.Hostname(metaData), host.Name)
	if parts.UserData == "" {
		return cloudinit.Config{}, hostname, nil
	}
	rendered, err := cloudinit.Render([]byte(parts.UserData), cloudinit.InstanceData(metaData))
	if err != nil {
		return cloudinit.Config{}, hostname, err
	}
	config, err := cloudinit.Parse(rendered)
	return config, cmp.Or(config.Hostname, hostname), err
}
