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
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// longest is how many bytes of the text of another cluster are shown.
const longest = 256

// Sanitize returns the error of another cluster in words that may be logged and shown. Its kind
// can still be tested for.
func Sanitize(err error) error { return sanitize(err, false) }

// sanitize is Sanitize. The answer to a request that holds a secret may repeat the secret, so that
// only its status code is shown.
func sanitize(err error, secret bool) error {
	var problem *identity.Problem
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problem):
		return &sanitizedError{words: problem.Message, cause: err}
	case errors.As(err, &status):
		return sanitizeStatus(status.Status(), secret)
	case errors.Is(err, context.DeadlineExceeded):
		return &sanitizedError{words: "The other cluster does not answer in time", cause: err}
	default:
		return &sanitizedError{words: "The other cluster gives an answer that is not understood", cause: err}
	}
}

// sanitizeStatus shows the first part of what the remote API server says, quoted, in one line,
// without characters that are not printed.
func sanitizeStatus(said metav1.Status, secret bool) error {
	words := fmt.Sprintf("The other cluster answers %d: %q", said.Code, text.Shorten(text.Printable(said.Message), longest))
	if secret {
		words = fmt.Sprintf("The other cluster answers %d (%s); what it says is not shown, since it may repeat the secret",
			said.Code, http.StatusText(int(said.Code)))
	}
	var details *metav1.StatusDetails // without text: what is refused as immutable is told by the fields
	if said.Details != nil {
		details = &metav1.StatusDetails{}
		for _, cause := range said.Details.Causes {
			details.Causes = append(details.Causes, metav1.StatusCause{Type: cause.Type, Field: cause.Field})
		}
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Reason: said.Reason, Code: said.Code, Message: words, Details: details,
	}}
}

// sanitizedError is an error without a status. Its cause is never printed.
type sanitizedError struct {
	words string
	cause error
}

// Error is what may be shown of the cause.
func (e *sanitizedError) Error() string { return e.words }

// Unwrap returns the cause.
func (e *sanitizedError) Unwrap() error { return e.cause }
