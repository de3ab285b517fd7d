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

package claim

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// refusal says in words of ours why the API server refuses a write, if it does so until a
// person changes something; empty for conflicts and failures that pass. The text of the API
// server may quote policies and webhooks of other teams, so it goes to the log only.
func refusal(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "an admission policy or webhook forbids it, or the hostclaim manager lacks the right; the administrator of the cluster must permit it"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return "an admission policy denies it, or the annotations of the object would be longer than 256 KiB; " +
			"the administrator of the cluster must permit it, or shorten them"
	// The API server tells a webhook that does not answer by these words only.
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook"):
		return "an admission webhook does not answer; while baremetal-operator is stopped, the failurePolicy of its webhook must be Ignore"
	default:
		return ""
	}
}
