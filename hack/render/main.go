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

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/networkdata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/templatecheck"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

// options are those of the command line.
type options struct {
	template, hardware, machine, pools string
	index                              int32
	byHostName                         bool
}

// run is main without the process around it.
func run(args []string, out io.Writer) error {
	var o options
	fs := pflag.NewFlagSet("render", pflag.ContinueOnError)
	fs.StringVar(&o.template, "template", "", "file with the Metal3DataTemplate")
	fs.StringVar(&o.hardware, "hardware", "", "file with the HardwareData of a host")
	fs.StringVar(&o.machine, "machine", "", "file with a Metal3Machine, and with its Machine if the template refers to that")
	fs.StringVar(&o.pools, "pools", "", "file with IPPools; addresses of other pools are placeholders")
	fs.Int32Var(&o.index, "index", 0, "index of the machine among those of the template")
	fs.BoolVar(&o.byHostName, "enable-bmh-name-based-preallocation", false, "name claims on pools after the host, as the manager does with this flag")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if extra := fs.Args(); len(extra) > 0 {
		return fmt.Errorf("%q belongs to no flag: name each file by its flag", extra[0])
	}
	var errs []error
	for _, needed := range []string{"template", "hardware", "machine"} {
		if fs.Lookup(needed).Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s is missing: name a file", needed))
		}
	}
	if o.index < 0 {
		errs = append(errs, errors.New("--index is negative: indexes start at 0"))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	in, err := o.read()
	if err != nil {
		return err
	}
	return preview(in, out)
}

// preview prints what a template makes of a machine.
func preview(in *input, out io.Writer) error {
	spec, f := in.template.Spec, in.facts()
	asks, err := ippool.Asks(spec, f)
	if err != nil {
		return cannotRender(in.template, err)
	}
	answers, err := answer(in, asks)
	if err != nil {
		return err
	}
	f.Addresses = addresses(answers)
	var problems error
	contents := map[string][]byte{}
	wanted := metadata.Wanted(spec, in.metal3Machine.Name)
	for _, doc := range wanted {
		content, err := networkdata.Document(doc.Key, spec, f)
		contents[doc.Key], problems = content, errors.Join(problems, err)
	}
	if problems != nil {
		return cannotRender(in.template, problems)
	}
	for _, warning := range templatecheck.Warnings(spec, field.NewPath("spec")) {
		fmt.Fprintf(out, "# Warning: %s\n", warning)
	}
	printAnswers(out, answers)
	for _, doc := range wanted {
		fmt.Fprintf(out, "---\n# Key %s of Secret %s\n%s", doc.Key, doc.Secret, contents[doc.Key])
	}
	if len(wanted) == 0 {
		fmt.Fprintf(out, "---\n# The template asks for no document: set metaData or networkData\n")
	}
	return nil
}

func cannotRender(template *infrav1.Metal3DataTemplate, err error) error {
	return fmt.Errorf("Metal3DataTemplate %q cannot be rendered for this machine:\n%w", template.Name, err)
}
