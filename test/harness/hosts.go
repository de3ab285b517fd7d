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

package harness

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file has what the suites need to play baremetal-operator.

// FollowHosts gives each version of hosts to a function, until the context ends. It returns a channel that is closed
// then.
func FollowHosts(
	ctx context.Context, c client.WithWatch, step func(watch.EventType, *bmov1alpha1.BareMetalHost) error, options ...client.ListOption,
) (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			followHosts(ctx, c, step, options)
		}
	}()
	return done
}

// followHosts is FollowHosts until the watch ends.
func followHosts(
	ctx context.Context, c client.WithWatch, step func(watch.EventType, *bmov1alpha1.BareMetalHost) error, options []client.ListOption,
) {
	stream, err := c.Watch(ctx, &bmov1alpha1.BareMetalHostList{}, options...)
	if err != nil {
		return
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if host, ok := event.Object.(*bmov1alpha1.BareMetalHost); ok {
			// A conflict means that a newer event is on its way.
			if err := step(event.Type, host); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
				klog.V(4).Infof("baremetal-operator: %v", err)
			}
		}
	}
}

// Proceed moves the status of a host one state on. It calls boots as the image is written, and wiped once the host
// was deprovisioned.
func Proceed(host *bmov1alpha1.BareMetalHost, boots, wiped func()) {
	status := &host.Status.Provisioning
	switch {
	case status.State == bmov1alpha1.StateAvailable && host.Spec.Image != nil && host.Spec.Online:
		boots()
		status.State = bmov1alpha1.StateProvisioning
	case status.State == bmov1alpha1.StateProvisioning && host.Spec.Image == nil,
		status.State == bmov1alpha1.StateProvisioned && host.Spec.Image == nil:
		status.State = bmov1alpha1.StateDeprovisioning
	case status.State == bmov1alpha1.StateProvisioning:
		status.State, status.Image = bmov1alpha1.StateProvisioned, *host.Spec.Image
	case status.State == bmov1alpha1.StateDeprovisioning:
		wiped()
		status.State, status.Image = bmov1alpha1.StateAvailable, bmov1alpha1.Image{}
	}
}

// Drive is what a server got to boot from: an image, and what is in the Secrets next to its host.
type Drive struct {
	URL, UserData, MetaData, NetworkData string
}

// ReadDrive reads the Secrets next to a host, as the config drive of a server is made: without
// network data of its own, a server gets that of its first boot.
func ReadDrive(ctx context.Context, c client.Reader, host *bmov1alpha1.BareMetalHost) Drive {
	read := func(ref *corev1.SecretReference, key string) string {
		if ref == nil {
			return "none"
		}
		secret := &corev1.Secret{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: ref.Name}, secret); err != nil {
			return err.Error()
		}
		if value, found := secret.Data[key]; found {
			return string(value)
		}
		return string(secret.Data["value"])
	}
	network := host.Spec.NetworkData
	if network == nil && host.Spec.PreprovisioningNetworkDataName != "" {
		network = &corev1.SecretReference{Name: host.Spec.PreprovisioningNetworkDataName}
	}
	return Drive{
		URL: host.Spec.Image.URL, UserData: read(host.Spec.UserData, "userData"),
		MetaData: read(host.Spec.MetaData, "metaData"), NetworkData: read(network, "networkData"),
	}
}
