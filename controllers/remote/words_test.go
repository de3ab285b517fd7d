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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

func TestFailure(t *testing.T) {
	const unauthorized = "does not accept the credentials"
	tests := map[string]struct {
		err       error
		certified bool
		expired   bool
		want      string
		reason    string
		timeout   bool
	}{
		"time is over":               {err: errors.New("x"), expired: true, want: "it does not answer in time", timeout: true},
		"the dialer has waited":      {err: os.ErrDeadlineExceeded, want: "it does not answer in time", timeout: true},
		"a name nobody knows":        {err: &net.DNSError{IsNotFound: true}, want: "its name cannot be resolved"},
		"nobody listens":             {err: syscall.ECONNREFUSED, want: "it refuses connections"},
		"no way":                     {err: syscall.EHOSTUNREACH, want: "there is no way to it"},
		"a denied address":           {err: errDenied, want: "its address is one that this manager never connects to"},
		"an unknown authority":       {err: x509.UnknownAuthorityError{}, want: "its certificate is signed by nobody"},
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
			w := &wire{server: "https://a", certified: tt.certified}
			err := w.failure(&net.OpError{Op: "dial", Err: fmt.Errorf("wrapped: %w", tt.err)}, tt.expired)
			if tt.reason == "" {
				tt.reason = infrav1.IdentityUnreachableReason
			}
			var problem *identity.Problem
			if !errors.As(err, &problem) || problem.Reason != tt.reason || !strings.Contains(problem.Message, tt.want) {
				t.Errorf("%#v, want %s", problem, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Error("the other side is quoted")
			}
			if (timedOut(err) != nil) != tt.timeout {
				t.Errorf("timed out: %v", timedOut(err))
			}
			// client-go asks again by itself when it sees such an error.
			if errors.Is(err, syscall.ECONNRESET) {
				t.Error("client-go sees a connection that was reset")
			}
		})
	}
}

func TestExplain(t *testing.T) {
	status := func(code int32, message string) error {
		return fmt.Errorf("apply: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message}})
	}
	tests := map[string]struct {
		err  error
		want string
	}{
		"a problem is told as it is": {
			err:  &url.Error{Op: "Get", URL: "x", Err: &failure{problem: &identity.Problem{Message: "It is down"}}},
			want: "It is down",
		},
		"a refusal is quoted":    {err: status(422, "spec.image: Required"), want: `The other cluster answers 422: "spec.image: Required"`},
		"lines become one":       {err: status(403, "no\nReady\x1b[2J: True"), want: `The other cluster answers 403: "no Ready [2J: True"`},
		"quotes cannot be ended": {err: status(403, `no". All is "well`), want: `The other cluster answers 403: "no\". All is \"well"`},
		"long texts are cut":     {err: status(400, strings.Repeat("x", 5000)), want: `The other cluster answers 400: "` + strings.Repeat("x", longest) + `..."`},
		"other errors are not":   {err: errors.New("s3cret"), want: "The other cluster gives an answer that is not understood"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Explain(tt.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClass(t *testing.T) {
	seen := map[string]bool{}
	for code := range 1000 {
		seen[class(code)] = true
	}
	if len(seen) > 10 {
		t.Errorf("another cluster can make up %d kinds of answers", len(seen))
	}
	for code, want := range map[int]string{http.StatusOK: "2xx", http.StatusUnauthorized: "401", http.StatusBadGateway: "5xx", 42: "other"} {
		if got := class(code); got != want {
			t.Errorf("%d is %s, want %s", code, got, want)
		}
	}
}

func TestMetricsAreThoseOfTheDocs(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMeasurements(&Registry{}, registry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newMeasurements(&Registry{}, registry); err == nil {
		t.Error("a second set of the same metrics is accepted")
	}
	descriptions := make(chan *prometheus.Desc, 10)
	m.Describe(descriptions)
	m.requests.Describe(descriptions)
	close(descriptions)
	form := regexp.MustCompile(`fqName: "(capm3_remote_[a-z_]+)", help: "[A-Z][^"]+\.", constLabels: \{\}, variableLabels: \{([a-z]+)\}`)
	var registered []string
	for d := range descriptions {
		parts := form.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("%s: the name must begin with capm3_remote_, and the help be a sentence", d)
		}
		registered = append(registered, parts[1]+" by "+parts[2])
	}
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(capm3_remote_[a-z_]+)` \\| .*, by `([a-z]+)`").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, row[1]+" by "+row[2])
	}
	slices.Sort(registered)
	slices.Sort(documented)
	if diff := cmp.Diff(registered, documented); diff != "" {
		t.Errorf("docs/operations.md (-registered +documented):\n%s", diff)
	}
}
