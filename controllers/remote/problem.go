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

package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

// Every problem is told in words of ours: what another cluster says could be made to
// mislead whoever reads a condition.

const (
	forbiddenFeature  = infrav1.ForbiddenKubeconfigFeatureReason
	contextNotFound   = infrav1.IdentityContextNotFoundReason
	invalidKubeconfig = infrav1.InvalidKubeconfigReason
)

// failure is a request that got no answer.
type failure struct {
	problem *identity.Problem
	timeout bool
}

// Error is the message of the problem.
func (f *failure) Error() string { return f.problem.Message }

// Unwrap is the problem.
func (f *failure) Unwrap() error { return f.problem }

func connecting() *identity.Problem {
	return &identity.Problem{
		Reason:  infrav1.IdentityConnectingReason,
		Message: "The connection to the cluster that holds the hosts is being made",
	}
}

func ofSecret(reason string, ref identity.Ref, err error) *identity.Problem {
	return &identity.Problem{Reason: reason, Message: fmt.Sprintf("Secret %q: %v", ref.Secret, err)}
}

func secretNotFound(ref identity.Ref) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentitySecretNotFoundReason,
		Message: fmt.Sprintf("Secret %q does not exist in namespace %q: create it, with a kubeconfig in the key %q",
			ref.Secret, ref.Namespace, kubeconfigKey),
	}
}

func keyMissing(ref identity.Ref) *identity.Problem {
	return &identity.Problem{
		Reason:  infrav1.IdentityKeyMissingReason,
		Message: fmt.Sprintf("Secret %q has no key %q: put the kubeconfig there", ref.Secret, kubeconfigKey),
	}
}

// secretForbidden is a right that the manager lacks in its own cluster.
func secretForbidden(ref identity.Ref) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentityForbiddenReason,
		Message: fmt.Sprintf("The provider may not get secrets in namespace %q: create a RoleBinding in that namespace "+
			"from its service account to the ClusterRole capm3-tenant-secrets", ref.Namespace),
	}
}

func unreachable(server, why string) *identity.Problem {
	return &identity.Problem{
		Reason:  infrav1.IdentityUnreachableReason,
		Message: fmt.Sprintf("The API server %s cannot be used: %s", server, why),
	}
}

func silent(server string) *identity.Problem {
	return unreachable(server, "it does not answer in time; check that it runs, and the way to it")
}

func slow(server string) *identity.Problem {
	return unreachable(server, "it answers too slowly; other requests are still under way")
}

func unauthorized(server string) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentityUnauthorizedReason,
		Message: fmt.Sprintf("The API server %s does not accept the credentials: they may be expired or revoked; "+
			"put a kubeconfig with valid ones into the Secret", server),
	}
}

func kindMissing(target identity.Target, resource string) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.HostClaimAPIMissingReason,
		Message: fmt.Sprintf("The API server %s does not serve %s: install the hostclaim manager there, "+
			"or name the cluster that has it", target.Server, resourceName(resource)),
	}
}

// rightsMissing names verbs by resource, in the order of the resources.
func rightsMissing(target identity.Target, missing []right) *identity.Problem {
	var resources []string
	verbs := map[string][]string{}
	for _, r := range missing {
		name := resourceName(r.resource)
		if !slices.Contains(resources, name) {
			resources = append(resources, name)
		}
		verbs[name] = append(verbs[name], r.verb)
	}
	for i, name := range resources {
		resources[i] = strings.Join(verbs[name], ", ") + " " + name
	}
	return &identity.Problem{
		Reason: infrav1.IdentityForbiddenReason,
		Message: fmt.Sprintf("The credentials may not %s in namespace %q of %s: have a Role there that permits it bound to their user",
			strings.Join(resources, "; "), target.Namespace, target.Server),
	}
}

func resourceName(resource string) string {
	if resource == "secrets" {
		return resource
	}
	return resource + ".metal3.io"
}

// internal is a fault of ours.
func internal(err error) *identity.Problem {
	return &identity.Problem{Reason: infrav1.IdentityUnreachableReason, Message: "The connection cannot be made: " + err.Error()}
}

// answered says what an error of a look means.
func (w *wire) answered(err error) *identity.Problem {
	var problem *identity.Problem
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &problem):
		return problem
	case apierrors.IsUnauthorized(err):
		return unauthorized(w.server)
	case errors.As(err, &status):
		return unreachable(w.server, fmt.Sprintf("it answers with status %d; check that it is an API server of Kubernetes, "+
			"and in order", status.Status().Code))
	default:
		return unreachable(w.server, "it answers with something that is no answer of an API server of Kubernetes")
	}
}

// problem says what it means that a request got no answer.
func (w *wire) problem(err error, expired bool) error {
	var timeout net.Error
	if expired || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout() {
		return &failure{problem: silent(w.server), timeout: true}
	}
	var alert tls.AlertError
	if errors.As(err, &alert) && w.certified {
		return &failure{problem: unauthorized(w.server)}
	}
	return &failure{problem: unreachable(w.server, why(err))}
}

// why names the cause of a failed connection, by the type of the error.
func why(err error) string {
	var (
		name      *net.DNSError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		tlsError  *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
	)
	switch {
	case errors.Is(err, errDenied):
		return "its address is one that this manager never connects to; ask whoever runs the manager"
	case errors.As(err, &name):
		return "its name cannot be resolved; check clusters[].cluster.server in the kubeconfig"
	case errors.As(err, &authority):
		return "its certificate is signed by nobody who is trusted; check certificate-authority-data in the kubeconfig"
	case errors.As(err, &host):
		return "its certificate is for another name; check server and tls-server-name in the kubeconfig"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate is expired, or not valid yet"
	case errors.As(err, &tlsError), errors.As(err, &invalid):
		return "its certificate is not valid"
	case errors.As(err, &record), errors.As(err, &alert):
		return "it does not speak TLS as it should; check the port in the kubeconfig"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses connections; check that it runs, and the port in the kubeconfig"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to it from this manager; check networks and firewalls"
	default:
		return "the connection broke off; check that it runs, and the way to it"
	}
}

// timedOut is the problem of a request that got no answer in time; nil for others.
func timedOut(err error) *identity.Problem {
	var f *failure
	if errors.As(err, &f) && f.timeout {
		return f.problem
	}
	return nil
}

// errMissing is the answer no to the question whether there is a right.
var errMissing = errors.New("the right is missing")

// errTooLarge is an answer that is not read to its end.
var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
