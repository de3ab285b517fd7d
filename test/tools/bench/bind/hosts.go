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

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

// addHosts makes free hosts, those from the first number to before the last.
func (r *room) addHosts(ctx context.Context, first, last int) error {
	return site.InParallel(ctx, first, last, r.addHost)
}

// newHost is a host that was not registered yet.
func newHost(name string, labels map[string]string) *bmov1alpha1.BareMetalHost {
	return &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: name, Labels: labels},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BMC:                   bmov1alpha1.BMCDetails{Address: "redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/" + name, CredentialsName: name + "-bmc"},
			AutomatedCleaningMode: bmov1alpha1.CleaningModeMetadata,
		},
	}
}

// addHost makes a host, its status and its HardwareData as hostsim would, without
// the writes in between: until the host is ready, its registration takes long.
func (r *room) addHost(ctx context.Context, n int) error {
	host := newHost(fmt.Sprintf("host-%05d", n), map[string]string{"rack": fmt.Sprintf("rack-%03d", n/40)})
	host.Finalizers = []string{bmov1alpha1.BareMetalHostFinalizer}
	host.Annotations = map[string]string{life.DelayAnnotation: string(life.Registration) + "=1h"}
	if err := r.Create(ctx, host); err != nil {
		return err
	}
	status := atRest(host)
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	if err := r.Status().Patch(ctx, host, client.RawPatch(types.MergePatchType, text)); err != nil {
		return err
	}
	data := &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: host.Name},
		Spec:       bmov1alpha1.HardwareDataSpec{HardwareDetails: status.HardwareDetails},
	}
	return r.Create(ctx, data)
}

// atRest is the status of a new host when it has come to rest.
func atRest(host *bmov1alpha1.BareMetalHost) bmov1alpha1.BareMetalHostStatus {
	now := time.Now()
	host = host.DeepCopy()
	host.Annotations = nil
	for o := (life.Observed{Host: host, Now: now}); ; {
		step := life.Next(o)
		if o.Host.Status.Provisioning.State == bmov1alpha1.StateAvailable {
			step.Status.LastUpdated = &metav1.Time{Time: now}
			return step.Status
		}
		o.Host.Status, o.Server = step.Status, step.Server
	}
}
