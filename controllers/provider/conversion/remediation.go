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

package conversion

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func remediationUp(in *v1beta1.Metal3Remediation, out *infrav1.Metal3Remediation) {
	out.Spec.Strategy = strategyUp(in.Spec.Strategy)
	out.Status = in.Status
}

func remediationDown(in *infrav1.Metal3Remediation, out *v1beta1.Metal3Remediation) {
	out.Spec.Strategy = strategyDown(in.Spec.Strategy)
	out.Status = in.Status
}

func remediationTemplateUp(in *v1beta1.Metal3RemediationTemplate, out *infrav1.Metal3RemediationTemplate) {
	out.Spec.Template.Spec.Strategy = strategyUp(in.Spec.Template.Spec.Strategy)
	out.Status = in.Status
}

func remediationTemplateDown(in *infrav1.Metal3RemediationTemplate, out *v1beta1.Metal3RemediationTemplate) {
	out.Spec.Template.Spec.Strategy = strategyDown(in.Spec.Template.Spec.Strategy)
	out.Status = in.Status
}

func strategyUp(in *v1beta1.RemediationStrategy) *infrav1.RemediationStrategy {
	if in == nil {
		return nil
	}
	out := &infrav1.RemediationStrategy{Type: in.Type, RetryLimit: in.RetryLimit}
	if in.Timeout != nil {
		out.TimeoutSeconds = int32(in.Timeout.Duration / time.Second)
	}
	return out
}

func strategyDown(in *infrav1.RemediationStrategy) *v1beta1.RemediationStrategy {
	if in == nil {
		return nil
	}
	out := &v1beta1.RemediationStrategy{Type: in.Type, RetryLimit: in.RetryLimit}
	if in.TimeoutSeconds != 0 {
		out.Timeout = &metav1.Duration{Duration: time.Duration(in.TimeoutSeconds) * time.Second}
	}
	return out
}
