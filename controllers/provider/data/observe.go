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

package data

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// sourceSteps read the objects that a template may refer to.
type sourceSteps struct {
	client client.Client
	hosts  HostReader
}

// observeTemplate reads the template.
func (o sourceSteps) observeTemplate(ctx context.Context, s *scope) progress.Outcome {
	ref := ptr.Deref(s.data.Spec.Template, infrav1.Metal3ObjectRef{})
	if ref.Namespace != "" && ref.Namespace != s.data.Namespace {
		return progress.Waiting(infrav1.InvalidConfigurationReason, fmt.Sprintf(
			"spec.template names Metal3DataTemplate %q of namespace %q: templates serve their own namespace only, use one of namespace %q",
			ref.Name, ref.Namespace, s.data.Namespace))
	}
	name := ref.Name
	template := &infrav1.Metal3DataTemplate{}
	err := o.client.Get(ctx, types.NamespacedName{Namespace: s.data.Namespace, Name: name}, template)
	if client.IgnoreNotFound(err) != nil {
		return progress.Failed(fmt.Errorf("read Metal3DataTemplate %s: %w", name, err))
	}
	if err != nil {
		return progress.Waiting(infrav1.TemplateNotFoundReason, fmt.Sprintf(
			"Metal3DataTemplate %q does not exist in namespace %q: create it", name, s.data.Namespace))
	}
	s.template = template
	return progress.Outcome{}
}

// observeMachine reads the Metal3Machine and the Machine that the data is for.
func (o sourceSteps) observeMachine(ctx context.Context, s *scope) progress.Outcome {
	owner, found := s.owner(machineKind)
	if !found {
		return progress.Waiting(infrav1.OwnerNotFoundReason, "No Metal3Machine is among the owners of this Metal3Data")
	}
	machine := &infrav1.Metal3Machine{}
	err := o.client.Get(ctx, types.NamespacedName{Namespace: s.data.Namespace, Name: owner.Name}, machine)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return progress.Failed(fmt.Errorf("read Metal3Machine %s: %w", owner.Name, err))
	case err != nil || machine.UID != owner.UID:
		return progress.Waiting(infrav1.OwnerNotFoundReason, fmt.Sprintf("Metal3Machine %q of this Metal3Data does not exist any more", owner.Name))
	}
	s.metal3Machine = machine
	s.machine, err = util.GetOwnerMachine(ctx, o.client, machine.ObjectMeta)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return progress.Failed(fmt.Errorf("read the Machine of Metal3Machine %s: %w", machine.Name, err))
	case err != nil || s.machine == nil:
		return progress.Waiting(infrav1.OwnerNotFoundReason, fmt.Sprintf("Metal3Machine %q has no Machine", machine.Name))
	}
	return progress.Outcome{}
}

// observeHost reads the facts of the server, unless all secrets are there.
func (o sourceSteps) observeHost(ctx context.Context, s *scope) progress.Outcome {
	if s.complete() {
		return progress.Outcome{}
	}
	host, found, err := o.hosts.Host(ctx, s.metal3Machine)
	if err != nil {
		return progress.Failed(fmt.Errorf("read the host of Metal3Machine %s: %w", s.metal3Machine.Name, err))
	}
	if !found || host.Name == "" {
		return progress.Waiting(infrav1.WaitingForHostClaimReason, fmt.Sprintf(
			"Waiting for a host for Metal3Machine %q and for the facts about it", s.metal3Machine.Name))
	}
	s.host = host
	return progress.Outcome{}
}

// facts are what the template may refer to.
func (s *scope) facts() facts.Facts {
	f := facts.New(facts.Sources{Data: s.data, Machine: s.machine, Metal3Machine: s.metal3Machine, Host: s.host})
	f.Addresses = s.addresses
	return f
}
