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
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// observeName reads the secret that gives the server the name of its machine, if
// one is needed. As with rendered secrets, one that a user has put there is taken
// as it is, and one of another owner is waited for to go.
func (d dataSteps) observeName(ctx context.Context, s *scope) progress.Outcome {
	name := machines.NameFacts{Secret: metadata.SecretName(s.machine.Name)}
	s.observed.Name = name
	s.observed.ForeignHost = s.observed.Facts && s.nameFacts().ForeignHost()
	if !machines.NeedsName(s.observed) {
		return progress.Outcome{}
	}
	secret := &corev1.Secret{}
	err := d.live.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: name.Secret}, secret)
	switch {
	case apierrors.IsForbidden(err):
		name.Reason, name.Message = infrav1.SecretsForbiddenReason, forbidden("get", s.machine.Namespace)
	case err == nil:
		name.Reason, name.Message = s.taken(secret)
		name.Exists = name.Reason == ""
	case !apierrors.IsNotFound(err):
		return failed(infrav1.Metal3DataReadyCondition, infrav1.WaitingForMetal3DataReason,
			fmt.Sprintf("Secret %q cannot be read", name.Secret), err)
	}
	s.observed.Name = name
	return progress.Outcome{}
}

// taken says why a secret that exists cannot be used.
func (s *scope) taken(secret *corev1.Secret) (reason, message string) {
	owner := metav1.GetControllerOfNoCopy(secret)
	switch {
	case owner != nil && owner.UID != s.machine.UID:
		return infrav1.SecretNameTakenReason, fmt.Sprintf(
			"Secret %q belongs to %s %q: it must be deleted first", secret.Name, owner.Kind, owner.Name)
	case len(secret.Data[secretkeys.MetaData]) == 0:
		return infrav1.SecretNameTakenReason, fmt.Sprintf(
			"Secret %q has no key %q: put one in, or delete the secret to have it written", secret.Name, secretkeys.MetaData)
	default:
		return "", ""
	}
}

// applyName writes the secret once. It is created and never changed, since the
// server reads it when it boots; it goes with its machine.
func (d dataSteps) applyName(ctx context.Context, p *planned) progress.Outcome {
	if p.plan.Name == nil {
		return progress.Outcome{}
	}
	const condition = infrav1.Metal3DataReadyCondition
	content, err := metadata.Render(nil, p.nameFacts())
	if err != nil {
		return failed(condition, infrav1.RenderingFailedReason, err.Error(), err)
	}
	secret := p.nameSecret(content)
	ctrl.LoggerFrom(ctx).Info("Writing the secret that names the server", "Secret", klog.KObj(secret))
	err = d.client.Create(ctx, secret, client.FieldOwner(infrav1.MachineFieldOwner))
	switch {
	case apierrors.IsAlreadyExists(err):
		return progress.Failed(progress.ErrStale)
	case apierrors.IsForbidden(err):
		return failed(condition, infrav1.SecretsForbiddenReason, forbidden("create", p.machine.Namespace), err)
	case err != nil:
		return failed(condition, infrav1.WaitingForMetal3DataReason, fmt.Sprintf("Secret %q cannot be written", secret.Name), err)
	}
	return progress.Outcome{}
}

// nameFacts are what metadata without a template is made of.
func (s *scope) nameFacts() metadata.Facts {
	data := &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{Namespace: s.machine.Namespace}}
	return metadata.NewFacts(data, s.owner, s.machine, s.host)
}

// nameSecret is the secret, whole.
func (p *planned) nameSecret(content []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       p.machine.Namespace,
			Name:            p.plan.Name.Secret,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: p.cluster.Name},
			OwnerReferences: []metav1.OwnerReference{ownedBy(p.machine)},
		},
		Type: infrav1.RenderedSecretType,
		Data: map[string][]byte{secretkeys.MetaData: content},
	}
}

// nameSecretToMachines maps a secret to the machine whose server it may name.
func nameSecretToMachines(namespace, name string) []ctrl.Request {
	if machine, found := strings.CutSuffix(name, metadata.SecretName("")); found && machine != "" {
		return []ctrl.Request{request(namespace, machine)}
	}
	return nil
}
