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

package machinetemplate

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// maxWrites is how many machines get the mode of their template in one pass.
const maxWrites = 10

// cleaningSteps give the machines of a template its cleaning mode.
type cleaningSteps struct{ client client.Client }

// drifted returns the machines that have another cleaning mode than their template gives. A template that
// gives none leaves the mode to its machines. Machines that are paused, or that another provider
// watches, are left alone.
func drifted(template *infrav1.Metal3MachineTemplate, machines []infrav1.Metal3Machine, watchFilter string) []*infrav1.Metal3Machine {
	mode := template.Spec.Template.Spec.AutomatedCleaningMode
	if mode == "" {
		return nil
	}
	var out []*infrav1.Metal3Machine
	for i := range machines {
		machine := &machines[i]
		watched := watchFilter == "" || labels.HasWatchLabel(machine, watchFilter)
		if machine.Spec.AutomatedCleaningMode != mode && watched && !annotations.HasPaused(machine) {
			out = append(out, machine)
		}
	}
	return out
}

// apply writes the mode to some of the machines that have another one; their events wake the template
// for the next ones, so that templates of others have their turn in between. The lock keeps a mode that the
// cache does not show yet: its event wakes the template again.
func (c cleaningSteps) apply(ctx context.Context, s *scope) progress.Outcome {
	var out progress.Outcome
	for _, machine := range s.drifted[:min(len(s.drifted), maxWrites)] {
		after := machine.DeepCopy()
		after.Spec.AutomatedCleaningMode = s.template.Spec.Template.Spec.AutomatedCleaningMode
		ctrl.LoggerFrom(ctx).V(4).Info("Giving a machine the cleaning mode of its template",
			"Metal3Machine", klog.KObj(after), "automatedCleaningMode", after.Spec.AutomatedCleaningMode)
		err := c.client.Patch(ctx, after, apply.Locked(machine))
		if client.IgnoreNotFound(err) != nil {
			out = out.And(progress.Failed(fmt.Errorf("write the cleaning mode of Metal3Machine %s: %w", machine.Name, err)))
		}
	}
	return out
}
