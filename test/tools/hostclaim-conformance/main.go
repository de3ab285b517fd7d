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

// Command hostclaim-conformance runs the conformance suite against a controller of HostClaims that is a program of its
// own. docs/host-classes.md tells what it checks.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/metal3-io/cluster-api-provider-metal3/test/conformance"
)

// flags are what the program is given.
type flags struct {
	kubeconfig, account, name, finalizer, parameters, wrongParameters, wrongArguments string
	controller, machines, prepare, claim, unsatisfiable, log, run                     string

	patience, stillness time.Duration
}

func (f *flags) add(to *pflag.FlagSet) {
	to.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of an administrator of a cluster that is for tests")
	to.StringVar(&f.account, "account-kubeconfig", "", "kubeconfig of the controller, for its rights; without it, the controller is an administrator")
	to.StringVar(&f.name, "controller-name", "", "controllerName of its classes")
	to.StringVar(&f.finalizer, "finalizer", "", "its finalizer; by default hostclaim.metal3.io/ and the controllerName with dots for slashes")
	to.StringVar(&f.parameters, "parameters", "", "parameters of its classes, JSON")
	to.StringVar(&f.wrongParameters, "wrong-parameters", "", "parameters that it refuses, JSON")
	to.StringVar(&f.wrongArguments, "wrong-arguments", "", "arguments of a claim that it refuses, a JSON object of strings")
	to.StringVar(&f.controller, "controller", "", "command that runs it with the kubeconfig of the environment variable KUBECONFIG, without leader election")
	to.StringVar(&f.machines, "machines", "",
		"command that prints all machines of the compute, JSON: [{\"name\": \"<namespace>/<name>\", \"claim\": \"<UID>\", \"image\": \"<URL>\", \"holdsData\": true}]")
	to.StringVar(&f.prepare, "prepare", "", "command that readies the namespace of the environment variable NAMESPACE for claims")
	to.StringVar(&f.claim, "claim", "", "what claims have beside the image, user data and class of the suite, JSON of a HostClaim")
	to.StringVar(&f.unsatisfiable, "unsatisfiable-claim", "", "what a claim has that nothing satisfies, JSON of a HostClaim")
	to.StringVar(&f.log, "log", os.DevNull, "file to keep what the controller prints")
	to.StringVar(&f.run, "run", "", "regular expression of the cases to run; all by default")
	to.DurationVar(&f.patience, "patience", 30*time.Second, "how long the controller may take for a step")
	to.DurationVar(&f.stillness, "stillness", time.Second, "how long to watch for what must not happen")
}

func main() {
	f := &flags{}
	f.add(pflag.CommandLine)
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := f.play(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hostclaim-conformance:", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

// play runs the suite and prints its table.
func (f *flags) play(ctx context.Context, out io.Writer) error {
	for flag, value := range map[string]string{
		"kubeconfig": f.kubeconfig, "controller-name": f.name, "controller": f.controller, "machines": f.machines,
	} {
		if value == "" {
			return fmt.Errorf("--%s is missing: see --help", flag)
		}
	}
	options := conformance.Options{
		Patience: f.patience, Stillness: f.stillness, Log: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	var err error
	if options.Run, err = regexp.Compile(f.run); err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	if options.Admin, err = clientcmd.BuildConfigFromFlags("", f.kubeconfig); err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	if f.account != "" {
		if options.Account, err = clientcmd.BuildConfigFromFlags("", f.account); err != nil {
			return fmt.Errorf("--account-kubeconfig: %w", err)
		}
	}
	controller, err := f.toController()
	if err != nil {
		return err
	}
	results, err := conformance.Run(ctx, controller, options)
	if err := errors.Join(err, conformance.Print(out, results)); err != nil {
		return err
	}
	if !conformance.Passed(results) {
		return errors.New("the controller does not keep the contract")
	}
	return nil
}

// toController is the controller whose parts are commands.
func (f *flags) toController() (conformance.Controller, error) {
	c := conformance.Controller{
		Name: f.name, Finalizer: f.finalizer, Parameters: f.parameters, WrongParameters: f.wrongParameters,
		WrongArguments: f.wrongArguments,
		Start:          f.start, Machines: f.listMachines,
	}
	if c.Finalizer == "" {
		c.Finalizer = "hostclaim.metal3.io/" + strings.ReplaceAll(f.name, "/", ".")
	}
	if f.prepare != "" {
		c.Prepare = func(ctx context.Context, namespace string) error {
			_, err := command(ctx, f.prepare, "NAMESPACE="+namespace)
			return err
		}
	}
	for flag, of := range map[string]struct {
		text string
		to   *func(*bmov1alpha1.HostClaim)
	}{"claim": {f.claim, &c.Adapt}, "unsatisfiable-claim": {f.unsatisfiable, &c.Spoil}} {
		if of.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(of.text), &bmov1alpha1.HostClaim{}); err != nil {
			return c, fmt.Errorf("--%s is no JSON of a HostClaim: %w", flag, err)
		}
		*of.to = func(claim *bmov1alpha1.HostClaim) {
			_ = json.Unmarshal([]byte(of.text), claim) // it was tried before
		}
	}
	return c, nil
}

// command runs a command of the user and returns what it prints.
func command(ctx context.Context, line string, environment ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Env = append(os.Environ(), environment...)
	c.Stderr, c.WaitDelay = os.Stderr, time.Second
	said, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", line, err)
	}
	return said, nil
}

func (f *flags) listMachines(ctx context.Context) (machines []conformance.Machine, err error) {
	said, err := command(ctx, f.machines)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(said, &machines); err != nil {
		return nil, fmt.Errorf("%s prints no list of machines: %w", f.machines, err)
	}
	return machines, nil
}

// start runs the controller until the context ends, and then kills it with its children.
func (f *flags) start(ctx context.Context, config *rest.Config) (err error) {
	dir, err := os.MkdirTemp("", "hostclaim-conformance-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"suite": {Server: config.Host}},
		Contexts:       map[string]*clientcmdapi.Context{"suite": {Cluster: "suite"}},
		CurrentContext: "suite",
	}, kubeconfig); err != nil {
		return err
	}
	log, err := os.OpenFile(f.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("--log: %w", err)
	}
	defer log.Close()
	said := &bytes.Buffer{}
	c := exec.CommandContext(ctx, "sh", "-c", f.controller)
	c.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	c.Stdout = io.MultiWriter(log, said)
	c.Stderr, c.WaitDelay = c.Stdout, time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	if err := c.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s, see --log: %w", f.controller, err)
	}
	if conformance.ShowsSecret(said.Bytes()) {
		return conformance.ErrShowsSecret
	}
	return nil
}
