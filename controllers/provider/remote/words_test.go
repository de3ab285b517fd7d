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
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestSanitize(t *testing.T) {
	status := func(code int32, message string) error {
		return fmt.Errorf("apply: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message}})
	}
	tests := map[string]struct {
		err  error
		want string
	}{
		"a problem is told as it is": {
			err:  &url.Error{Op: "Get", URL: "x", Err: &identity.Problem{Message: "It is down"}},
			want: "It is down",
		},
		"a refusal is quoted":    {err: status(422, "spec.image: Required"), want: `The other cluster answers 422: "spec.image: Required"`},
		"lines become one":       {err: status(403, "no\nReady\x1b[2J: True"), want: `The other cluster answers 403: "no Ready [2J: True"`},
		"quotes cannot be ended": {err: status(403, `no". All is "well`), want: `The other cluster answers 403: "no\". All is \"well"`},
		"long texts are cut":     {err: status(400, strings.Repeat("x", 5000)), want: `The other cluster answers 400: "` + strings.Repeat("x", longest-len("…")) + `…"`},
		"other errors are not":   {err: errors.New("s3cret"), want: "The other cluster gives an answer that is not understood"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Sanitize(tt.err).Error()) })
	}
}

func TestClass(t *testing.T) {
	seen := map[string]bool{}
	for code := range 1000 {
		seen[class(code)] = true
	}
	expect.That(t, len(seen) <= 10, "another cluster can make up %d kinds of answers", len(seen))
	for code, want := range map[int]string{http.StatusOK: "2xx", http.StatusUnauthorized: "401", http.StatusBadGateway: "5xx", 42: "other"} {
		got := class(code)
		expect.That(t, got == want, "%d is %s, want %s", code, got, want)
	}
}

func TestMetricsAreThoseOfTheDocs(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMeasurements(&Registry{}, registry)
	expect.NoError(t, err)
	if _, err := newMeasurements(&Registry{}, registry); err == nil {
		t.Error("a second set of the same metrics is accepted")
	}
	descriptions := make(chan *prometheus.Desc, 10)
	m.Describe(descriptions)
	m.requests.Describe(descriptions)
	m.parsed.Describe(descriptions)
	close(descriptions)
	form := regexp.MustCompile(`fqName: "(capm3_remote_[a-z_]+)", help: "[A-Z][^"]+\.", constLabels: \{\}, variableLabels: \{([a-z]*)\}`)
	var registered []string
	for d := range descriptions {
		parts := form.FindStringSubmatch(d.String())
		expect.Must(t, parts != nil, "%s: the name must begin with capm3_remote_, and the help be a sentence", d)
		registered = append(registered, parts[1]+" by "+parts[2])
	}
	text, err := os.ReadFile("../../../docs/reference/metrics.md")
	expect.NoError(t, err)
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(capm3_remote_[a-z_]+)` \\| [a-z]+ \\| `?([a-z]*)`? ?\\|").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, row[1]+" by "+row[2])
	}
	slices.Sort(registered)
	slices.Sort(documented)
	expect.Equal(t, registered, documented) // in docs/reference/metrics.md
}
