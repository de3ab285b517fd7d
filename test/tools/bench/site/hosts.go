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

package site

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

// PlayHosts has hostsim play all hosts in this process, without delays, until ctx ends.
func (s *Site) PlayHosts(ctx context.Context) error {
	config := rest.CopyConfig(s.Server.Config)
	config.QPS = -1
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: s.Server.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		// A second site may have hosts too.
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return err
	}
	if err := host.New(nil).SetupWithManager(mgr); err != nil {
		return err
	}
	go func() {
		if err := mgr.Start(ctx); err != nil {
			ctrl.Log.Error(err, "hostsim has ended")
		}
	}()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("hostsim does not see the hosts")
	}
	return nil
}

// NewHost is a host that was not registered yet.
func NewHost(namespace, name string, labels map[string]string) *bmov1alpha1.BareMetalHost {
	return &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BMC:                   bmov1alpha1.BMCDetails{Address: "redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/" + name, CredentialsName: name + "-bmc"},
			AutomatedCleaningMode: bmov1alpha1.CleaningModeMetadata,
		},
	}
}

// AddHost makes a free host, its status and its HardwareData as hostsim would, without the
// writes in between: until the host is ready, its registration takes long.
func (s *Site) AddHost(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	host.Finalizers = []string{bmov1alpha1.BareMetalHostFinalizer}
	host.Annotations = map[string]string{life.DelayAnnotation: string(life.Registration) + "=1h"}
	if err := s.Create(ctx, host); err != nil {
		return err
	}
	status := atRest(host)
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	if err := s.Status().Patch(ctx, host, client.RawPatch(types.MergePatchType, text)); err != nil {
		return err
	}
	return s.Create(ctx, &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: host.Name},
		Spec:       bmov1alpha1.HardwareDataSpec{HardwareDetails: status.HardwareDetails},
	})
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
