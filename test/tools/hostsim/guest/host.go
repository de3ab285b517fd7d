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

package guest

import (
	"regexp"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/netdata"
)

// unmanaged says that baremetal-operator leaves the server of the host alone, or that
// clusterctl takes the host away, whose annotations it replaces before it deletes the host.
func unmanaged(host *bmov1alpha1.BareMetalHost) bool {
	_, paused := host.Annotations[bmov1alpha1.PausedAnnotation]
	_, moved := host.Annotations["clusterctl.cluster.x-k8s.io/delete-for-move"]
	return paused || moved
}

// HangAnnotation on a BareMetalHost has its machine hang: it is on and does nothing, as after a
// crash of its kernel. It runs again after a reboot, and hangs after that one too as long as the
// annotation is there.
const HangAnnotation = "hostsim.metal3.io/hang"

// observe reads a host. A host that is provisioned again, even with the same
// image, is another deployment; one that was moved away and back is not.
func observe(host *bmov1alpha1.BareMetalHost) observed {
	o := observed{poweredOn: host.Status.PoweredOn}
	_, o.hangs = host.Annotations[HangAnnotation]
	for key := range host.Annotations {
		o.reboots = o.reboots || strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix)
	}
	if host.Status.Provisioning.State == bmov1alpha1.StateProvisioned {
		o.deployment = strings.Join([]string{
			host.Status.Provisioning.Image.URL,
			host.Status.OperationHistory.Provision.Start.UTC().Format(time.RFC3339),
		}, " ")
	}
	return o
}

// provisionedBefore says whether the host was ready before that time.
func provisionedBefore(host *bmov1alpha1.BareMetalHost, at time.Time) bool {
	end := host.Status.OperationHistory.Provision.End
	return !end.IsZero() && end.Time.Before(at)
}

// nics lists the cards that inspection found; without inspection the card that
// the host boots from is known.
func nics(host *bmov1alpha1.BareMetalHost) []netdata.NIC {
	var cards []netdata.NIC
	if host.Status.HardwareDetails != nil {
		for _, nic := range host.Status.HardwareDetails.NIC {
			cards = append(cards, netdata.NIC{MAC: nic.MAC, IP: nic.IP})
		}
	}
	if len(cards) == 0 {
		cards = append(cards, netdata.NIC{MAC: host.Spec.BootMACAddress})
	}
	return cards
}

// version finds a Kubernetes version in the name of an image.
var version = regexp.MustCompile(`v\d+\.\d+\.\d+`)

// imageVersion is the version of the kubelet that the deployed image brings, if
// its name says so.
func imageVersion(host *bmov1alpha1.BareMetalHost) string {
	return version.FindString(host.Status.Provisioning.Image.URL)
}
