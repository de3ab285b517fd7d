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

package manager

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Builder makes a manager with everything set up, ready to start.
type Builder func(context.Context, *rest.Config) (ctrl.Manager, error)

// Flags are the options of one manager: Options, and what it adds to them.
type Flags interface {
	AddFlags(fs *pflag.FlagSet)
	Validate() error
	common() *Options
}

// Main is the main function of a manager: it reads the flags, checks the options, and runs the manager until a signal.
// It says on standard error why that cannot be, and ends the process with 1.
func Main(name string, options Flags, build Builder) {
	if err := execute(name, os.Args[1:], options, build); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

func execute(name string, args []string, options Flags, build Builder) error {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	options.AddFlags(fs)
	fs.AddGoFlagSet(flag.CommandLine) // --kubeconfig
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	o := options.common()
	if o.Version {
		fmt.Fprintln(os.Stdout, version.Get())
		return nil
	}
	if err := options.Validate(); err != nil {
		return err
	}
	if err := logsv1.ValidateAndApply(o.Logging, nil); err != nil {
		return err
	}
	log := printableLogger(klog.Background())
	ctrl.SetLogger(log)
	return run(ctrl.LoggerInto(ctrl.SetupSignalHandler(), log), build)
}
