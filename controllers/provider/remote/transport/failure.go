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
	"net"
	"os"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

// Problem returns the problem of this API server that has a cause. More are the arguments
// that follow the URL of the server.
func (t *Transport) Problem(cause identity.Cause, more ...any) *identity.Problem {
	return cause.Problem(append([]any{t.server}, more...)...)
}

// causeOf classifies the error of a request that got no response, or not all of it. Callers get
// the problem and not the error: client-go retries some errors by itself, ten times.
func (t *Transport) causeOf(err error) identity.Cause {
	if t.certified && as[tls.AlertError](err) {
		return identity.Unauthorized
	}
	for _, known := range causes {
		if known.matches(err) {
			return known.cause
		}
	}
	return identity.BrokenOff
}

// refused is the error of a response that is not read.
func (t *Transport) refused(cause identity.Cause) error {
	problem := t.Problem(cause)
	if t.limits.Refused != nil {
		t.limits.Refused(problem)
	}
	return problem
}

// ProblemOf classifies the error of a request as a problem of the connection.
func (t *Transport) ProblemOf(err error) *identity.Problem {
	var problem *identity.Problem
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return t.Problem(identity.Silent)
	case apierrors.IsUnauthorized(err):
		return t.Problem(identity.Unauthorized)
	case errors.As(err, &status):
		return t.Problem(identity.BadStatus, status.Status().Code)
	default:
		return t.Problem(identity.NoAPIServer)
	}
}

// errDenied is an address that must not be connected to.
var errDenied = errors.New("the address is denied")

// causes classify errors of connections by their types, in this order. The text of an error is
// not shown: the remote server may have chosen it.
var causes = [...]struct {
	matches func(error) bool
	cause   identity.Cause
}{
	{is(context.DeadlineExceeded), identity.Silent},
	{is(os.ErrDeadlineExceeded), identity.Silent},
	{timedOut, identity.Silent},
	{is(errDenied), identity.Denied},
	{as[*net.DNSError], identity.Unresolved},
	{as[tls.RecordHeaderError], identity.NotTLS},
	{as[tls.AlertError], identity.NotTLS},
	{is(syscall.ECONNREFUSED), identity.Refused},
	{is(syscall.EHOSTUNREACH), identity.NoRoute},
	{is(syscall.ENETUNREACH), identity.NoRoute},
	{as[x509.UnknownAuthorityError], identity.UnknownAuthority},
	{as[x509.HostnameError], identity.OtherName},
	{expired, identity.Expired},
	{as[x509.CertificateInvalidError], identity.BadCertificate},
	{as[*tls.CertificateVerificationError], identity.BadCertificate},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[E error](err error) bool {
	var found E
	return errors.As(err, &found)
}

func timedOut(err error) bool {
	var found net.Error
	return errors.As(err, &found) && found.Timeout()
}

func expired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// Failure is how requests have failed: the largest of several counts.
type Failure int

const (
	// Unclear means that the connection is to be checked.
	Unclear Failure = iota + 1
	// Forbidden means that a right was missing.
	Forbidden
	// TimedOut means that the API server did not answer in time. No check is needed.
	TimedOut
)

// Failed has an entry when requests have failed: what is known of all since the last entry.
func (t *Transport) Failed() <-chan Failure {
	return t.failures
}

// report adds to the entry of Failed.
func (t *Transport) report(next Failure) {
	for {
		select {
		case t.failures <- next:
			return
		default:
		}
		select {
		case pending := <-t.failures:
			next = max(next, pending)
		default:
		}
	}
}
