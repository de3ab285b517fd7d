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

// Package conformance checks that a controller of HostClaims keeps its contract, which docs/host-classes.md has. It
// runs the controller against an API server, through a proxy that sees each request, loses some of them, and lets the
// world change in the middle of others. The hostclaim manager and the controller of package example pass.
package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"text/tabwriter"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
)

// Controller is the controller under test, and what the suite must know of the compute behind it.
type Controller struct {
	// Name is the controllerName of its classes, Finalizer what it puts on the claims that it answers.
	Name, Finalizer string
	// Parameters are those of the classes that the suite creates, WrongParameters some that the controller must refuse.
	// Both are JSON objects; empty for none. WrongArguments are arguments of a claim that it must refuse, beside those
	// that are no JSON object of strings.
	Parameters, WrongParameters, WrongArguments string
	// Start runs the controller, without leader election, until the context ends. The configuration leads to the proxy.
	// What the controller does by other ways is not interrupted.
	Start func(ctx context.Context, config *rest.Config) error
	// Prepare readies a namespace for claims, of which at most three have machines at once. Nil if there is nothing to do.
	// Each run of the case move keeps a machine for good.
	Prepare func(ctx context.Context, namespace string) error
	// Machines lists all that the controller can give, or has given, as the compute itself has it.
	Machines func(ctx context.Context) ([]Machine, error)
	// Adapt makes a claim one that the controller can satisfy, and Spoil one that it cannot. Nil for as it is; without
	// Spoil, the suite does not ask for an explanation.
	Adapt, Spoil func(claim *bmov1alpha1.HostClaim)
}

// Machine is a server, a virtual machine, or whatever a claim is given.
type Machine struct {
	// Name is the namespace, a slash and the name that status.bareMetalHost has.
	Name string `json:"name"`
	// Claim is the UID of the claim that has the machine; empty if it is free.
	Claim types.UID `json:"claim,omitempty"`
	// Image is the URL of the image that it runs; empty if it runs none.
	Image string `json:"image,omitempty"`
	// HoldsData reports whether something of a tenant may be left on it.
	HoldsData bool `json:"holdsData,omitempty"`
}

// Options are how the suite runs.
type Options struct {
	// Admin is the administrator of the API server, Account what the controller acts as; nil for Admin.
	Admin, Account *rest.Config
	// Run selects the cases by their names; nil selects all.
	Run *regexp.Regexp
	// Patience is how long the controller may take for a step; 30 seconds by default.
	Patience time.Duration
	// Stillness is how long the suite watches for what must not happen; 1 second by default.
	Stillness time.Duration
	// Log gets what is run and what came of it, line by line; nil for nothing.
	Log func(line string)
}

// Result is what came of a case.
type Result struct {
	Name, Rule string
	// Err is what the controller did wrong; nil if nothing.
	Err error
	// Skipped is why the case was not run; empty if it was.
	Skipped string
	Took    time.Duration
}

// ErrShowsSecret is returned by Start of a controller whose log has what is in a Secret.
var ErrShowsSecret = errors.New("the controller prints what is in a Secret: keep secrets out of its log")

// errSkip is returned by a case that does not apply to the controller.
var errSkip = errors.New("not asked for")

// Run runs the suite, and returns what came of each case that it ran. The error is one of the suite itself.
func Run(ctx context.Context, controller Controller, options Options) ([]Result, error) {
	s, err := newSuite(controller, options)
	if err != nil {
		return nil, err
	}
	defer s.proxy.close()
	var results []Result
	for _, c := range cases() {
		if options.Run != nil && !options.Run.MatchString(c.name) {
			continue
		}
		began := time.Now()
		result := Result{Name: c.name, Rule: c.rule, Err: s.play(ctx, c)}
		result.Took = time.Since(began)
		if errors.Is(result.Err, errSkip) {
			result.Err, result.Skipped = nil, result.Err.Error()
		}
		s.options.Log(fmt.Sprintf("%s: %s", c.name, result.verdict()))
		results = append(results, result)
		if err := ctx.Err(); err != nil {
			return results, err
		}
	}
	return results, nil
}

// Passed reports whether the controller did nothing wrong.
func Passed(results []Result) bool {
	for _, result := range results {
		if result.Err != nil {
			return false
		}
	}
	return len(results) > 0
}

func (r Result) verdict() string {
	switch {
	case r.Err != nil:
		return "FAIL: " + r.Err.Error()
	case r.Skipped != "":
		return "skipped: " + r.Skipped
	default:
		return "pass"
	}
}

// Print writes a table of results.
func Print(to io.Writer, results []Result) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CASE\tTOOK\tRULE\tRESULT")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%.1fs\t%s\t%s\n", r.Name, r.Took.Seconds(), r.Rule, r.verdict())
	}
	return table.Flush()
}

func (o Options) withDefaults() Options {
	o.Account = cmp.Or(o.Account, o.Admin)
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	o.Stillness = cmp.Or(o.Stillness, time.Second)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o
}

// suite is a run of it.
type suite struct {
	controller Controller
	options    Options
	client     client.WithWatch
	proxy      *proxy
}

// NewScheme returns a scheme with the kinds that a controller of claims reads or writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, bmov1alpha1.AddToScheme, hostclaimv1.AddToScheme)
	return scheme, builder.AddToScheme(scheme)
}

func newSuite(controller Controller, options Options) (*suite, error) {
	if controller.Name == "" || controller.Finalizer == "" || controller.Start == nil || controller.Machines == nil {
		return nil, errors.New("the suite needs Name, Finalizer, Start and Machines of the controller: set them")
	}
	options = options.withDefaults()
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	unlimited := rest.CopyConfig(options.Admin)
	unlimited.QPS = -1
	c, err := client.NewWithWatch(unlimited, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("client of the administrator: %w", err)
	}
	p, err := newProxy(options.Account)
	if err != nil {
		return nil, err
	}
	return &suite{controller: controller, options: options, client: c, proxy: p}, nil
}

// marker is in the Secrets of claims, and must be nowhere else.
const marker = "conformance-7d1f"

// bootSecret is what a claim boots from.
func bootSecret(namespace, name string) *corev1.Secret {
	secret := &corev1.Secret{Data: map[string][]byte{"value": []byte("#cloud-config\n# " + marker)}}
	secret.Namespace, secret.Name = namespace, name
	return secret
}
