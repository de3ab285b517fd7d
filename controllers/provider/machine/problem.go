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

package machine

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// waiting is the outcome of a step that a watch will wake, with the condition that
// says so.
func waiting(condition, reason, message string) progress.Outcome {
	return progress.WaitingFor(progress.Wait{Condition: condition, Reason: reason, Message: message})
}

// failed is the outcome of a step that failed, with the condition that says so. A
// conflict needs none: the pass is repeated with fresher facts. What the API server has
// to say about an object that it does not accept, or a right that is missing,
// is shown, since its owner can do something about it; other errors go to the
// log only. Another cluster is never quoted as it pleases.
func failed(condition, reason, message string, err error) progress.Outcome {
	if apierrors.IsConflict(err) {
		return progress.Failed(err)
	}
	var status apierrors.APIStatus
	if (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)) && errors.As(err, &status) {
		message += ": " + explanation(err, status)
	}
	return waiting(condition, reason, message).And(progress.Failed(err))
}

// explanation is what an API server says about a refusal, in words of ours if it is that
// of another cluster.
func explanation(err error, status apierrors.APIStatus) string {
	var sanitized *remote.SanitizedError
	if errors.As(err, &sanitized) {
		return sanitized.Error()
	}
	return status.Status().Message
}
