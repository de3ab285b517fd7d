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

package kubevirt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	virtv1 "kubevirt.io/api/core/v1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/virtualmachine"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/conformance"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubevirt"
)

var server harness.Server

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	gomega.SetDefaultEventuallyTimeout(30 * time.Second)
	os.Exit(server.Run(m))
}

// parameters are those of the classes of the tests.
const parameters = `{"instancetype":{"name":"small"},"rootDisk":{"size":"20Gi"},"networks":[{},{"networkName":"storage"}]}`

// managerOptions are those of a manager that a test starts often, in one process.
func managerOptions(t *testing.T) ctrl.Options {
	t.Helper()
	scheme, err := setup.NewScheme()
	expect.NoError(t, err)
	return ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true), UsePriorityQueue: ptr.To(false)},
	}
}

// install installs the CRDs of KubeVirt, and has it played until the test ends.
func install(t *testing.T) client.Client {
	t.Helper()
	_, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{Paths: []string{
		filepath.Join("crds", "cdi.kubevirt.io_datavolumes.yaml"), filepath.Join("crds", "kubevirt.io_virtualmachineinstances.yaml"),
		filepath.Join("crds", "kubevirt.io_virtualmachines.yaml"),
	}, ErrorIfPathMissing: true})
	expect.NoError(t, err)
	options := managerOptions(t)
	options.Client = kubevirt.ClientOptions()
	mgr, err := ctrl.NewManager(server.Config, options)
	expect.NoError(t, err)
	expect.NoError(t, (&kubevirt.Reconciler{Client: mgr.GetClient()}).SetupWithManager(mgr))
	expect.NoError(t, ctrl.NewControllerManagedBy(mgr).Named("collector").For(&virtv1.VirtualMachine{}).Complete(collector(mgr.GetClient())))
	admin, err := client.New(server.Config, client.Options{Scheme: options.Scheme})
	expect.NoError(t, err)
	volumes := ctrl.NewControllerManagedBy(mgr).Named("volume-collector").For(&cdiv1.DataVolume{})
	expect.NoError(t, volumes.Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		return ctrl.Result{}, letGo(ctx, admin, req, &cdiv1.DataVolume{})
	})))
	run(t, mgr)
	return admin
}

// run runs a manager until the test ends.
func run(t *testing.T, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		expect.NoError(t, <-ended)
	})
}

// newManager returns the kubevirt manager.
func newManager(ctx context.Context, t *testing.T, config *rest.Config) (ctrl.Manager, error) {
	t.Helper()
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	options := managerOptions(t)
	options.Cache, options.Client = setup.CacheOptions(o), setup.ClientOptions()
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, err
	}
	return mgr, setup.AddControllers(ctx, mgr, o)
}

// TestConformance has the conformance suite look at the kubevirt manager, with the rights of its manifests.
func TestConformance(t *testing.T) {
	admin := install(t)
	account := harness.KubeVirtAccount()
	expect.NoError(t, server.InstallRoles(t.Context(), account))
	expect.NoError(t, server.InstallConfig(t.Context(), "hostclaim/admission", harness.Webhooks{}))
	for _, refuses := range []string{"bound-claim", "own-references"} { // what the suite has tenants do, to see what the manager makes of it
		expect.NoError(t, server.Client.Delete(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: refuses}}))
	}
	as := rest.CopyConfig(server.Config)
	as.Impersonate.UserName = account.User()
	results, err := conformance.Run(t.Context(), conformance.Controller{
		Name: virtualmachine.Controller().Name, Finalizer: virtualmachine.Controller().Finalizer,
		Parameters: parameters, WrongParameters: `{"instancetype":{"name":"small"},"rootDisk":{"size":"large"}}`,
		WrongArguments: `{"instancetype":"unknown"}`,
		Start: func(ctx context.Context, config *rest.Config) error {
			mgr, err := newManager(ctx, t, config)
			if err != nil {
				return err
			}
			return mgr.Start(ctx)
		},
		Prepare: func(ctx context.Context, namespace string) error {
			return server.Bind(ctx, account, namespace, "hostclaim-kubevirt-secrets")
		},
		Machines: func(ctx context.Context) ([]conformance.Machine, error) { return machines(ctx, admin) },
		Spoil: func(claim *bmov1alpha1.HostClaim) {
			claim.Spec.HostSelector.MatchLabels = map[string]string{"rack": "none"}
		},
	}, conformance.Options{
		Admin: server.Config, Account: as, Log: func(line string) { t.Log(line) }, Patience: time.Minute, Stillness: 500 * time.Millisecond,
	})
	expect.NoError(t, err)
	text := &strings.Builder{}
	expect.NoError(t, conformance.Print(text, results))
	t.Log("\n" + text.String())
	for _, result := range results {
		expect.That(t, result.Err == nil, "%s (%s): %v", result.Name, result.Rule, result.Err)
	}
}

// machines are the virtual machines of claims.
func machines(ctx context.Context, admin client.Client) (machines []conformance.Machine, err error) {
	all := &virtv1.VirtualMachineList{}
	if err := admin.List(ctx, all, client.HasLabels{virtualmachine.ClaimLabel}); err != nil {
		return nil, err
	}
	for i := range all.Items {
		vm := &all.Items[i]
		machines = append(machines, conformance.Machine{
			Name: vm.Namespace + "/" + vm.Name, Claim: types.UID(vm.Labels[virtualmachine.ClaimLabel]),
			Image: virtualmachine.Image(vm), HoldsData: len(vm.Spec.Template.Spec.Volumes) > 0 || virtualmachine.Unclean(vm),
		})
	}
	return machines, nil
}

// letGo lets an object go that is deleted in the foreground, and owns nothing.
func letGo(ctx context.Context, admin client.Client, req ctrl.Request, o client.Object) error {
	if err := admin.Get(ctx, req.NamespacedName, o); err != nil {
		return client.IgnoreNotFound(err)
	}
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.RemoveFinalizer(o, metav1.FinalizerDeleteDependents) {
		return nil
	}
	return client.IgnoreNotFound(admin.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// collector plays the garbage collector of foreground deletion, which the API server of the tests does not have.
func collector(admin client.Client) reconcile.Func {
	return func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		vm := &virtv1.VirtualMachine{}
		if err := admin.Get(ctx, req.NamespacedName, vm); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if !controllerutil.ContainsFinalizer(vm, metav1.FinalizerDeleteDependents) {
			return ctrl.Result{}, nil
		}
		for _, o := range []client.Object{&cdiv1.DataVolume{}, &corev1.Secret{}} {
			if err := admin.DeleteAllOf(ctx, o, client.InNamespace(vm.Namespace), client.MatchingLabels{
				virtualmachine.ClaimLabel: vm.Labels[virtualmachine.ClaimLabel],
			}); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, letGo(ctx, admin, req, vm)
	}
}
