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

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
)

// failure is the error of a request that got no response, or not all of it. It wraps
// the problem and not the cause: client-go retries some causes by itself, ten times.
type failure struct {
	problem *identity.Problem
	timeout bool
}

// Error is the message of the problem.
func (f *failure) Error() string { return f.problem.Message }

// Unwrap is the problem.
func (f *failure) Unwrap() error { return f.problem }

// failed classifies the error of a request that got no response, or not all of it.
func (t *Transport) failed(err error, expired bool) *failure {
	var timeout net.Error
	if expired || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout() {
		return &failure{problem: t.Silent(), timeout: true}
	}
	var alert tls.AlertError
	if errors.As(err, &alert) && t.certified {
		return &failure{problem: t.unauthorized()}
	}
	return &failure{problem: t.Unusable(cause(err))}
}

// Meaning classifies the error of a request as a problem of the connection.
func (t *Transport) Meaning(err error) *identity.Problem {
	var problem *identity.Problem
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return t.Silent()
	case apierrors.IsUnauthorized(err):
		return t.unauthorized()
	case errors.As(err, &status):
		return t.Unusable(fmt.Sprintf("it answers with status %d; check that it is an API server of Kubernetes, and in order",
			status.Status().Code))
	default:
		return t.Unusable("it answers with something that is no answer of an API server of Kubernetes")
	}
}

// Unusable is the problem that the server cannot be used, and why.
func (t *Transport) Unusable(why string) *identity.Problem {
	return &identity.Problem{
		Reason:  infrav1.IdentityUnreachableReason,
		Message: fmt.Sprintf("The API server %s cannot be used: %s", t.server, why),
	}
}

// Silent is the problem that the server does not answer in time.
func (t *Transport) Silent() *identity.Problem {
	return t.Unusable("it does not answer in time; check that it runs, and the way to it")
}

func (t *Transport) unauthorized() *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentityUnauthorizedReason,
		Message: fmt.Sprintf("The API server %s does not accept the credentials: they may be expired or revoked; "+
			"put a kubeconfig with valid ones into the Secret", t.server),
	}
}

// cause names why a connection failed by the type of the error. Text of the remote
// server is not repeated: it could be made to mislead the reader of a condition.
func cause(err error) string {
	var (
		name   *net.DNSError
		record tls.RecordHeaderError
		alert  tls.AlertError
	)
	switch {
	case errors.Is(err, errDenied):
		return "its address is one that this manager never connects to; ask whoever runs the manager"
	case errors.As(err, &name):
		return "its name cannot be resolved; check clusters[].cluster.server in the kubeconfig"
	case errors.As(err, &record), errors.As(err, &alert):
		return "it does not speak TLS as it should; check the port in the kubeconfig"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses connections; check that it runs, and the port in the kubeconfig"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to it from this manager; check networks and firewalls"
	default:
		return certificate(err)
	}
}

// certificate names what is wrong with the certificate of the server, if that is the cause.
func certificate(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		other     *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &authority):
		return "its certificate is signed by nobody who is trusted; check certificate-authority-data in the kubeconfig"
	case errors.As(err, &host):
		return "its certificate is for another name; check server and tls-server-name in the kubeconfig"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate is expired, or not valid yet"
	case errors.As(err, &other), errors.As(err, &invalid):
		return "its certificate is not valid"
	default:
		return "the connection broke off; check that it runs, and the way to it"
	}
}

// Why a response is refused.
const (
	// tooLarge is for a response that exceeds its limit.
	tooLarge = "an answer of it is larger than what this manager reads"
	// tooMany is for a watch of more Nodes than a cache may hold.
	tooMany = "it has more than 10,000 Nodes, which is more than this manager reads; take out those that it does not need"
	// busy is for a response for which there is no room.
	busy = "this manager reads too many large answers at once; it tries again"
	// redirected is for a response that leads to another address.
	redirected = "it redirects to another address, which this manager does not follow; " +
		"name the right one in clusters[].cluster.server of the kubeconfig"
)

// refused is the error of a response that is not read.
func (t *Transport) refused(why string) error {
	f := &failure{problem: t.Unusable(why)}
	if t.limits.Refused != nil {
		t.limits.Refused(f)
	}
	return f
}
