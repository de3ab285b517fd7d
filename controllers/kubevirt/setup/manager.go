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

// Package setup builds the kubevirt manager.
package setup

import (
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	virtv1 "kubevirt.io/api/core/v1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/classes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/virtualmachine"
)

const (
	// leaderElectionID names the Lease of the leader.
	leaderElectionID = "kubevirt-manager-leader-election"

	// userAgent names the manager in the audit logs of API servers.
	userAgent = "kubevirt-manager"
)

// Options are what the flags say.
type Options struct {
	manager.Options

	// Concurrency is how many claims are worked on at a time.
	Concurrency int
}

// NewOptions returns options without values; AddFlags gives them their defaults.
func NewOptions() Options {
	return Options{Options: manager.NewOptions()}
}

// AddFlags adds the flags to the set; their defaults become those of the options.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs)
	o.WebhookPort = 0 // it has none
	fs.IntVar(&o.Concurrency, "hostclaim-concurrency", 10, "How many claims are worked on at a time, of one namespace two fifths of that.")
}

// Validate returns all that is wrong with the options.
func (o Options) Validate() error {
	return errors.Join(o.Options.Validate(),
		manager.Check(o.WebhookPort == 0, "--webhook-port: the kubevirt manager serves no webhooks, leave it out"),
		manager.Check(o.Concurrency > 0, "--hostclaim-concurrency must be at least 1"))
}

// Main is the main function of the manager.
func Main() {
	o := NewOptions()
	manager.Main("kubevirt-manager", &o, func(ctx context.Context, restConfig *rest.Config) (ctrl.Manager, error) {
		return NewManager(ctx, restConfig, o)
	})
}

// NewManager returns a manager with everything set up, ready to start.
func NewManager(ctx context.Context, restConfig *rest.Config, o Options) (ctrl.Manager, error) {
	mgr, err := o.New(ctx, restConfig, manager.Definition{
		UserAgent: userAgent, Lease: leaderElectionID, CRDs: neededCRDs(), NewScheme: NewScheme, Cache: CacheOptions(o), Client: ClientOptions(),
	})
	if err != nil {
		return nil, err
	}
	if err := AddControllers(ctx, mgr, o); err != nil {
		return nil, err
	}
	return mgr, o.AddServers(mgr, nil)
}

// neededCRDs are those that the manager cannot do without.
func neededCRDs() []manager.CRD {
	const operator, ours = "install baremetal-operator, 0.13 or later, or apply its CRDs", "apply the manifest of the hostclaim manager, which brings it"
	return []manager.CRD{
		{Name: "hostclaims.metal3.io", Kind: bmov1alpha1.GroupVersion.WithKind("HostClaim"), Remedy: operator},
		{Name: "hardwaredata.metal3.io", Kind: bmov1alpha1.GroupVersion.WithKind("HardwareData"), Remedy: operator},
		{Name: "hostclaimclasses.hostclaim.metal3.io", Kind: hostclaimv1.GroupVersion.WithKind("HostClaimClass"), Remedy: ours},
		{Name: "virtualmachines.kubevirt.io", Kind: virtv1.VirtualMachineGroupVersionKind, Remedy: "install KubeVirt, 1.6 or later"},
		{
			Name: "datavolumes.cdi.kubevirt.io", Kind: cdiv1.SchemeGroupVersion.WithKind("DataVolume"),
			Remedy: "install the Containerized Data Importer of KubeVirt",
		},
	}
}

// NewScheme returns the kinds that the manager reads or writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, bmov1alpha1.AddToScheme, hostclaimv1.AddToScheme,
		virtv1.AddToScheme, cdiv1.AddToScheme)
	return scheme, builder.AddToScheme(scheme)
}

// CacheOptions are what the manager holds: beside claims what was made for them, and no managed fields.
func CacheOptions(o Options) cache.Options {
	ours := &client.ListOptions{}
	client.HasLabels{virtualmachine.ClaimLabel}.ApplyToList(ours)
	options := cache.Options{
		SyncPeriod:       &o.SyncPeriod,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&virtv1.VirtualMachine{}:    {Label: ours.LabelSelector},
			&cdiv1.DataVolume{}:         {Label: ours.LabelSelector, Transform: strip},
			&bmov1alpha1.HardwareData{}: {Label: ours.LabelSelector, Transform: strip},
		},
	}
	if o.WatchFilter != "" {
		options.ByObject[&bmov1alpha1.HostClaim{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{clusterv1.WatchLabel: o.WatchFilter})}
	}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	return options
}

// strip drops what is not compared. A tenant may put the label on objects of its own.
func strip(o any) (any, error) {
	o, err := cache.TransformStripManagedFields()(o)
	switch o := o.(type) {
	case *cdiv1.DataVolume:
		o.Annotations, o.Spec = nil, cdiv1.DataVolumeSpec{}
	case *bmov1alpha1.HardwareData:
		virtualmachine.Strip(o)
	}
	return o, err
}

// ClientOptions have Secrets read from the API server.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
}

// AddControllers adds the controllers of claims and classes to a manager.
func AddControllers(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := claim.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("declare the field indexes: %w", err)
	}
	writer := client.WithFieldOwner(mgr.GetClient(), claim.FieldOwner)
	if o.Namespace == "" { // one install in a cluster speaks for classes, which stand in no namespace
		if err := (&classes.Reconciler{Client: writer, Controller: virtualmachine.Controller()}).SetupWithManager(mgr); err != nil {
			return fmt.Errorf("controller of classes: %w", err)
		}
	}
	secrets, err := secretwatch.NewForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	if err := mgr.Add(secrets); err != nil {
		return fmt.Errorf("add the watch on secrets: %w", err)
	}
	reconciler := &claim.Reconciler{Client: writer, Live: mgr.GetAPIReader(), Secrets: secrets}
	return reconciler.SetupWithManager(mgr, controller.Options{
		MaxConcurrentReconciles: o.Concurrency, RateLimiter: queue.Limiter(),
		NewQueue: queue.New(o.Concurrency, nil), // a backlog of one tenant does not hold up the claims of another
	}, secrets)
}
