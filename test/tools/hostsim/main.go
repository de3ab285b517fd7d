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
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	virtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/guest"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubevirt"
)

// options are the command line. --kubeconfig comes with controller-runtime, the
// logging flags with klog.
type options struct {
	mode       string
	healthAddr string
	delays     string
	rate       float64
	kubevirt   bool
}

func main() {
	var opts options
	flag.StringVar(&opts.mode, "mode", "guest", "What to play. guest: the machines on provisioned BareMetalHosts, beside baremetal-operator. "+
		"host: the BareMetalHosts, instead of baremetal-operator. all: both of them.")
	flag.StringVar(&opts.healthAddr, "health-addr", "127.0.0.1:9447", "Address of /healthz and /readyz; 0 turns it off.")
	flag.StringVar(&opts.delays, "delays", "", "For --mode=host and all, how long operations take, such as provisioning=10s,power=1s or all=0s. "+
		"The annotation "+life.DelayAnnotation+" of a host goes over it.")
	flag.Float64Var(&opts.rate, "kube-api-qps", 200, "Requests per second to the API server.")
	flag.BoolVar(&opts.kubevirt, "kubevirt", false, "For --mode=guest, play KubeVirt too, and the machines on its VirtualMachines.")
	klog.InitFlags(nil)
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		fmt.Fprintln(os.Stderr, "hostsim:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options) error {
	scheme, setup, err := role(opts)
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster to read from, see --kubeconfig: %w", err)
	}
	config.QPS, config.Burst = float32(opts.rate), int(2*opts.rate)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Client:                 kubevirt.ClientOptions(),
		Scheme:                 scheme,
		HealthProbeBindAddress: opts.healthAddr,
		Metrics:                metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return fmt.Errorf("reach the cluster at %s: %w", config.Host, err)
	}
	if err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("hosts", synced(mgr)),
		setup(mgr),
	); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// role is what --mode asks to play: the kinds that it knows, and what it adds to a
// manager.
func role(opts options) (*runtime.Scheme, func(ctrl.Manager) error, error) {
	switch opts.mode {
	case "guest":
		return guests(opts)
	case "host":
		scheme, err := host.NewScheme()
		if err != nil {
			return nil, nil, err
		}
		delays, err := life.ParseDelays(opts.delays)
		return scheme, host.New(life.DefaultDelays().With(delays)).SetupWithManager, err
	case "all":
		return both(opts)
	default:
		return nil, nil, fmt.Errorf("unknown --mode %q: there are guest, host and all", opts.mode)
	}
}

// guests plays the machines on hosts, and those on VirtualMachines with what is below them.
func guests(opts options) (*runtime.Scheme, func(ctrl.Manager) error, error) {
	scheme, err := guest.NewScheme()
	if err != nil || !opts.kubevirt {
		return scheme, func(mgr ctrl.Manager) error { return guest.Setup(mgr) }, err
	}
	return scheme, func(mgr ctrl.Manager) error {
		return errors.Join((&kubevirt.Reconciler{Client: mgr.GetClient()}).SetupWithManager(mgr), guest.Setup(mgr, guest.Kind{
			Name: "virtual-guest", Object: &virtv1.VirtualMachine{},
			Hosts: kubevirt.Hosts{Reader: mgr.GetClient()}, Secrets: kubevirt.Drives{Reader: mgr.GetAPIReader()},
		}))
	}, kubevirt.AddToScheme(scheme)
}

// both plays hosts and guests; their kinds are the same.
func both(opts options) (*runtime.Scheme, func(ctrl.Manager) error, error) {
	opts.mode = "host"
	scheme, hosts, err := role(opts)
	return scheme, func(mgr ctrl.Manager) error { return errors.Join(hosts(mgr), guest.Setup(mgr)) }, err
}

// synced is ready once all hosts are known.
func synced(mgr ctrl.Manager) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the BareMetalHosts are not all read yet")
		}
		return nil
	}
}
