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
	"flag"
	"strings"

	"github.com/spf13/pflag"

	hostclaim "github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	provider "github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup"
)

// flagsPage renders the flags of both managers.
func flagsPage() string {
	providerOptions, hostclaimOptions := provider.NewOptions(), hostclaim.NewOptions()
	providerFlags, hostclaimFlags := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	providerOptions.AddFlags(providerFlags)
	hostclaimOptions.AddFlags(hostclaimFlags)
	for _, set := range []*pflag.FlagSet{providerFlags, hostclaimFlags} {
		set.AddGoFlag(flag.Lookup("kubeconfig"))
	}
	of := func(f *pflag.Flag) [2]bool {
		return [2]bool{providerFlags.Lookup(f.Name) != nil, hostclaimFlags.Lookup(f.Name) != nil}
	}
	var page strings.Builder
	page.WriteString("# Flags\n\n" + generated + "\nBoth managers are installed with `--leader-elect`.\n")
	for _, section := range []struct {
		heading string
		set     *pflag.FlagSet
		of      [2]bool
	}{
		{"Both managers", providerFlags, [2]bool{true, true}},
		{"Provider manager", providerFlags, [2]bool{true, false}},
		{"Hostclaim manager", hostclaimFlags, [2]bool{false, true}},
	} {
		rows := [][]string{{"Flag", "Default", "Meaning"}}
		section.set.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && of(f) == section.of {
				rows = append(rows, []string{"`--" + f.Name + "`", defaultOf(f), cell(f.Usage)})
			}
		})
		page.WriteString(table(section.heading, "", rows))
	}
	return page.String()
}

func defaultOf(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "[]" {
		return ""
	}
	return "`" + f.DefValue + "`"
}

// cell returns a text that fits into a table: of a long one the first sentence.
func cell(text string) string {
	if len(text) > 300 {
		text, _, _ = strings.Cut(text, ". ")
		text += "."
	}
	return code(strings.ReplaceAll(text, "|", `\|`), nil)
}
