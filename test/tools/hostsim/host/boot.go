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

package host

import (
	"cmp"

	"github.com/go-logr/logr"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

// reportBoot logs what cloud-init would do on a server that comes up. Nothing is
// executed. What it cannot read is said and left at that: the server runs, as in
// life, only without what its owner wanted.
func reportBoot(logger logr.Logger, host *bmov1alpha1.BareMetalHost, server life.Server) {
	logger = logger.WithValues("image", cmp.Or(server.Disk.Image, server.Disk.CustomDeploy), "boot", server.Boots,
		"data", server.Disk.Drive.Hash())
	config, hostname, err := configdrive.FirstBoot(host, server.Disk.Drive)
	switch {
	case err != nil:
		logger.Info("Booted, cloud-init gives up", "hostname", hostname, "reason", err.Error())
	case server.Boots > 1:
		logger.Info("Booted again", "hostname", hostname)
	default:
		logger.Info("Booted", "hostname", hostname, "runcmd", config.Commands, "files", len(config.Files))
	}
}
