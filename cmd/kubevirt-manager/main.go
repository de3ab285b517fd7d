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

// Command kubevirt-manager gives virtual machines of KubeVirt to the HostClaims of its
// classes, and deletes them with their data.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/setup"
)

func main() {
	options := setup.NewOptions()
	fs := pflag.NewFlagSet("kubevirt-manager", pflag.ContinueOnError)
	options.AddFlags(fs)
	fs.AddGoFlagSet(flag.CommandLine) // --kubeconfig
	if err := fs.Parse(os.Args[1:]); err != nil {
		if !errors.Is(err, pflag.ErrHelp) {
			fail(err)
		}
		return
	}
	if options.Version {
		fmt.Println(version.Get())
		return
	}
	if err := logsv1.ValidateAndApply(options.Logging, nil); err != nil {
		fail(err)
	}
	ctrl.SetLogger(klog.Background())
	if err := setup.Run(ctrl.SetupSignalHandler(), options); err != nil {
		fail(err)
	}
}

// fail says on standard error why the manager cannot run.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "kubevirt-manager:", err)
	os.Exit(1)
}
