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

package tenant

import (
	"context"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operator plays baremetal-operator for all hosts: it watches them and moves their
// status one state at a time, and remembers what the servers went through.
type operator struct {
	mu sync.Mutex
	// drives are what each server got to boot from, the last one last.
	drives map[client.ObjectKey][]drive
	// cleaned counts how often each server was wiped with cleaning on, and dirty
	// how often without.
	cleaned, dirty map[client.ObjectKey]int
}

// drive is what a server got to boot from.
type drive struct {
	url, userData, metaData, networkData string
}

func startOperator(ctx context.Context) (*operator, error) {
	o := &operator{
		drives:  map[client.ObjectKey][]drive{},
		cleaned: map[client.ObjectKey]int{},
		dirty:   map[client.ObjectKey]int{},
	}
	c, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Scheme})
	if err != nil {
		return nil, err
	}
	go func() {
		for ctx.Err() == nil {
			o.run(ctx, c)
		}
	}()
	return o, nil
}

// run follows the hosts until the watch ends.
func (o *operator) run(ctx context.Context, c client.WithWatch) {
	stream, err := c.Watch(ctx, &bmov1alpha1.BareMetalHostList{})
	if err != nil {
		return
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if host, ok := event.Object.(*bmov1alpha1.BareMetalHost); ok {
			// A conflict means that a newer event is on its way.
			if err := o.step(ctx, c, host); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
				klog.V(4).Infof("operator: %v", err)
			}
		}
	}
}

// step moves a host one state on.
func (o *operator) step(ctx context.Context, c client.Client, host *bmov1alpha1.BareMetalHost) error {
	before, status := host.DeepCopy(), &host.Status.Provisioning
	wanted := host.Spec.Image != nil && host.Spec.Online
	switch {
	case host.Status.ErrorMessage != "" || status.State == "":
		return nil
	case status.State == bmov1alpha1.StateAvailable && wanted:
		o.burn(ctx, c, host)
		status.State = bmov1alpha1.StateProvisioning
	case status.State == bmov1alpha1.StateProvisioning && host.Spec.Image == nil,
		status.State == bmov1alpha1.StateProvisioned && host.Spec.Image == nil:
		o.wipe(host)
		status.State = bmov1alpha1.StateDeprovisioning
	case status.State == bmov1alpha1.StateProvisioning:
		status.State, status.Image = bmov1alpha1.StateProvisioned, *host.Spec.Image
	case status.State == bmov1alpha1.StateDeprovisioning:
		status.State, status.Image = bmov1alpha1.StateAvailable, bmov1alpha1.Image{}
	}
	host.Status.PoweredOn = host.Spec.Online
	return c.Status().Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// burn reads the secrets next to the host, as the config drive of a server is
// made: without network data of its own, a server gets that of its first boot.
func (o *operator) burn(ctx context.Context, c client.Client, host *bmov1alpha1.BareMetalHost) {
	read := func(ref *corev1.SecretReference, key string) string {
		if ref == nil {
			return "none"
		}
		secret := &corev1.Secret{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: ref.Name}, secret); err != nil {
			return err.Error()
		}
		return string(secret.Data[key])
	}
	network := host.Spec.NetworkData
	if network == nil && host.Spec.PreprovisioningNetworkDataName != "" {
		network = &corev1.SecretReference{Name: host.Spec.PreprovisioningNetworkDataName}
	}
	d := drive{
		url:         host.Spec.Image.URL,
		userData:    read(host.Spec.UserData, "userData"),
		metaData:    read(host.Spec.MetaData, "metaData"),
		networkData: read(network, "networkData"),
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := client.ObjectKeyFromObject(host)
	o.drives[key] = append(o.drives[key], d)
}

func (o *operator) wipe(host *bmov1alpha1.BareMetalHost) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if host.Spec.AutomatedCleaningMode == bmov1alpha1.CleaningModeMetadata {
		o.cleaned[client.ObjectKeyFromObject(host)]++
	} else {
		o.dirty[client.ObjectKeyFromObject(host)]++
	}
}

// booted returns what a server got to boot from so far.
func (o *operator) booted(host client.ObjectKey) []drive {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]drive{}, o.drives[host]...)
}

// wipes returns how often a server was wiped, with cleaning on and off.
func (o *operator) wipes(host client.ObjectKey) (cleaned, dirty int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cleaned[host], o.dirty[host]
}
