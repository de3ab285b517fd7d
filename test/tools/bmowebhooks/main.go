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

// Bmowebhooks answers the webhooks of baremetal-operator 0.14 in the place of that: for claims and hosts by
// package rules, for the other kinds with yes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bmowebhooks/rules"
)

// options are the command line. --kubeconfig comes with controller-runtime, the logging flags with klog.
type options struct {
	healthAddr string
	webhook    webhook.Options
}

func main() {
	var opts options
	flag.StringVar(&opts.healthAddr, "health-addr", "127.0.0.1:9447", "Address of /healthz and /readyz; 0 turns it off.")
	flag.IntVar(&opts.webhook.Port, "webhook-port", 9443, "Port of the webhooks, on loopback.")
	flag.StringVar(&opts.webhook.CertDir, "webhook-cert-dir", "", "Folder with tls.crt and tls.key.")
	klog.InitFlags(nil)
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		fmt.Fprintln(os.Stderr, "bmowebhooks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options) error {
	scheme := runtime.NewScheme()
	if err := bmov1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster to serve, see --kubeconfig: %w", err)
	}
	opts.webhook.Host = "127.0.0.1"
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: opts.healthAddr,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		WebhookServer:          webhook.NewServer(opts.webhook),
	})
	if err != nil {
		return fmt.Errorf("reach the cluster at %s: %w", config.Host, err)
	}
	server := mgr.GetWebhookServer()
	for kind, handler := range map[string]admission.Handler{
		"baremetalhost":          judge(scheme, &bmov1alpha1.BareMetalHost{}, rules.Host),
		"hostclaim":              judge(scheme, &bmov1alpha1.HostClaim{}, rules.Claim),
		"bmceventsubscription":   admission.HandlerFunc(allow),
		"dataimage":              admission.HandlerFunc(allow),
		"hostfirmwarecomponents": admission.HandlerFunc(allow),
		"hostnetworkattachment":  admission.HandlerFunc(allow),
	} {
		server.Register("/validate-metal3-io-v1alpha1-"+kind, &webhook.Admission{Handler: handler})
	}
	if err := errors.Join(mgr.AddHealthzCheck("webhooks", server.StartedChecker()), mgr.AddReadyzCheck("webhooks", server.StartedChecker())); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// judge refuses the objects for which a rule returns an error.
func judge[T runtime.Object](scheme *runtime.Scheme, empty T, rule func(T) error) admission.Handler {
	decoder := admission.NewDecoder(scheme)
	return admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		object, ok := empty.DeepCopyObject().(T)
		if !ok {
			return admission.Errored(http.StatusInternalServerError, errors.New("a copy has another type"))
		}
		if err := decoder.DecodeRaw(request.Object, object); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		if err := rule(object); err != nil {
			return admission.Denied(err.Error())
		}
		return admission.Allowed("")
	})
}

func allow(context.Context, admission.Request) admission.Response {
	return admission.Allowed("")
}
