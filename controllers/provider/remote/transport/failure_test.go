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
	"strings"
	"syscall"
	"testing"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestFailure(t *testing.T) {
	const unauthorized = "does not accept the credentials"
	tests := map[string]struct {
		err       error
		certified bool
		want      string
		reason    string
	}{
		"time is over":               {err: context.DeadlineExceeded, want: "it does not answer in time"},
		"the dialer has waited":      {err: os.ErrDeadlineExceeded, want: "it does not answer in time"},
		"a name nobody knows":        {err: &net.DNSError{IsNotFound: true}, want: "its name cannot be resolved"},
		"nobody listens":             {err: syscall.ECONNREFUSED, want: "it refuses connections"},
		"no way":                     {err: syscall.EHOSTUNREACH, want: "there is no way to it"},
		"a denied address":           {err: errDenied, want: "its address is one that this manager never connects to"},
		"an unknown authority":       {err: x509.UnknownAuthorityError{}, want: "its certificate is signed by an authority that is not trusted"},
		"another name":               {err: x509.HostnameError{}, want: "its certificate is for another name"},
		"a former certificate":       {err: x509.CertificateInvalidError{Reason: x509.Expired}, want: "its certificate is expired"},
		"a bad certificate":          {err: x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}, want: "its certificate is not valid"},
		"a certificate unlike any":   {err: &tls.CertificateVerificationError{Err: errors.New("x")}, want: "its certificate is not valid"},
		"http where https should be": {err: tls.RecordHeaderError{}, want: "it does not speak TLS"},
		"an alert":                   {err: tls.AlertError(42), want: "it does not speak TLS"},
		"an alert about a client certificate": {
			err: tls.AlertError(42), certified: true, want: unauthorized, reason: infrav1.IdentityUnauthorizedReason,
		},
		"a connection that is reset": {err: syscall.ECONNRESET, want: "the connection broke off"},
		"words of the other side":    {err: errors.New("Ready=True\nall is well"), want: "the connection broke off"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &Transport{server: "https://a", certified: tt.certified}
			var err error = w.Problem(w.causeOf(&net.OpError{Op: "dial", Err: fmt.Errorf("wrapped: %w", tt.err)}))
			if tt.reason == "" {
				tt.reason = infrav1.IdentityUnreachableReason
			}
			var problem *identity.Problem
			expect.That(t, errors.As(err, &problem) && problem.Reason == tt.reason && strings.Contains(problem.Message, tt.want), "%#v, want %s", problem, tt.want)
			expect.That(t, !strings.Contains(err.Error(), "\n"), "the other side is quoted")
			expect.That(t, !strings.Contains(err.Error(), "%!"), "the text wants other arguments: %v", err)
			// client-go asks again by itself when it sees such an error.
			expect.That(t, !errors.Is(err, syscall.ECONNRESET), "client-go sees a connection that was reset")
		})
	}
}
