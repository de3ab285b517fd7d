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
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFirstBoot(t *testing.T) {
	type boot struct {
		Hostname string
		Commands []string
		Failed   bool
	}
	tests := map[string]struct {
		drive Contents
		want  boot
	}{
		"of an image alone is named after the host": {Contents{}, boot{Hostname: "host-0"}},
		"takes its name from the metadata, and runs what the user data says": {
			Contents{MetaData: "local-hostname: node-0", UserData: "## template: jinja\n#cloud-config\nruncmd:\n- hostname {{ ds.meta_data.local_hostname }}\n"},
			boot{Hostname: "node-0", Commands: []string{"hostname host-0"}},
		},
		"is named by its user data before its metadata": {
			Contents{MetaData: "local-hostname: node-0", UserData: "#cloud-config\nhostname: build-1\n"}, boot{Hostname: "build-1"},
		},
		"gives up on user data that is no cloud-config": {
			Contents{UserData: "#!/bin/sh\n"}, boot{Hostname: "host-0", Failed: true},
		},
		"gives up on metadata that is no map": {Contents{MetaData: "- a"}, boot{Hostname: "host-0", Failed: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "host-0"}}
			config, hostname, err := FirstBoot(host, tc.drive)
			if diff := cmp.Diff(tc.want, boot{Hostname: hostname, Commands: config.Commands, Failed: err != nil}); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
