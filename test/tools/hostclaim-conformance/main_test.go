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
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/conformance"
	"github.com/metal3-io/cluster-api-provider-metal3/test/conformance/example"
)

var server apitest.Server

// TestMain runs the tests, or plays the commands that the program runs: the controller and the list of machines.
func TestMain(m *testing.M) {
	play, found := map[string]func(cloud string) error{"controller": playController, "machines": playMachines}[os.Getenv("PLAY")]
	if !found {
		os.Exit(server.Run(m))
	}
	if err := play(os.Getenv("CLOUD")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func playController(cloud string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := example.NewManager(config, cloud, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if os.Getenv("TALKS") != "" {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return talk(ctx, mgr.GetConfig()) })); err != nil {
			return err
		}
	}
	return mgr.Start(context.Background())
}

// talk prints each Secret of the API server.
func talk(ctx context.Context, config *rest.Config) error {
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return err
	}
	stream, err := c.Watch(ctx, &corev1.SecretList{})
	if err != nil {
		return err
	}
	for event := range stream.ResultChan() {
		if secret, ok := event.Object.(*corev1.Secret); ok {
			fmt.Fprintf(os.Stderr, "%s\n", secret.Data["value"])
		}
	}
	return nil
}

func playMachines(cloud string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	machines, err := example.Machines(context.Background(), c, cloud)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(machines)
}

// program is the program under test, with flags.
func program(t *testing.T, args ...string) *flags {
	t.Helper()
	f := &flags{}
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.add(set)
	expect.NoError(t, set.Parse(args))
	return f
}

// TestProgramJudgesAControllerThatIsAProcess runs the example as a process of its own.
func TestProgramJudgesAControllerThatIsAProcess(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "admin.kubeconfig")
	expect.NoError(t, os.WriteFile(kubeconfig, server.Kubeconfig(), 0o600))
	self, err := os.Executable()
	expect.NoError(t, err)
	args := []string{
		"--kubeconfig", kubeconfig, "--controller-name", example.Controller().Name, "--parameters", `{"size":"small"}`,
		"--controller", fmt.Sprintf("env PLAY=controller CLOUD=%s %s", server.Namespace(t), self),
		"--stillness", "300ms", "--log", filepath.Join(t.TempDir(), "log"),
	}
	cloud := strings.Fields(args[7])[2]
	args = append(args, "--machines", fmt.Sprintf("env PLAY=machines %s KUBECONFIG=%s %s", cloud, kubeconfig, self))
	table := &strings.Builder{}
	expect.NoError(t, program(t, append(args, "--run", "^(accept|bind|lock|release)$")...).play(t.Context(), table))
	expect.That(t, strings.Count(table.String(), "  pass\n") == 4, "%s", table)

	talks := slices.Clone(args)
	talks[7] = strings.Replace(talks[7], "env ", "env TALKS=yes ", 1)
	table.Reset()
	expect.Error(t, "does not keep the contract", program(t, append(talks, "--run", "^bind$")...).play(t.Context(), table))
	expect.That(t, strings.Contains(table.String(), conformance.ErrShowsSecret.Error()), "%s", table)

	// With parameters that it refuses, it answers nothing.
	args[5] = `{"size":"boundless"}`
	err = program(t, append(args, "--run", "^accept$", "--patience", "2s")...).play(t.Context(), &strings.Builder{})
	expect.Error(t, "does not keep the contract", err)
}

func TestProgramNamesTheFlagThatIsWrong(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "admin.kubeconfig")
	expect.NoError(t, os.WriteFile(kubeconfig, server.Kubeconfig(), 0o600))
	all := []string{"--kubeconfig", kubeconfig, "--controller-name", "a/b", "--controller", "true", "--machines", "echo []"}
	tests := map[string]struct {
		args []string
		says string
	}{
		"without a kubeconfig":        {[]string{"--controller-name", "a/b", "--controller", "true", "--machines", "echo []"}, "--kubeconfig is missing"},
		"with a claim that is none":   {append(all, "--claim", "{"), "--claim is no JSON"},
		"with cases that are none":    {append(all, "--run", "("), "--run"},
		"with a controller that ends": {append(all, "--run", "bind", "--patience", "1s"), "does not keep the contract"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Error(t, tt.says, program(t, tt.args...).play(t.Context(), &strings.Builder{}))
		})
	}
}
