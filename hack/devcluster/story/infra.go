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

package story

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// Pool is a namespace with servers and the tenants that may have them.
type Pool struct {
	Namespace string
	// Servers is how many there are; they are named server-1, server-2 and so on.
	Servers int
	// Tenants are the namespaces that the policy admits, every namespace if none is named. The pool of
	// a tenant that has its servers in its own namespace names itself.
	Tenants []string
}

// Register creates the pool as an infrastructure team would: the namespace, the
// rights of the hostclaim manager there, a policy, and each server with its BMC
// password and what is known of its hardware.
func (p Pool) Register(ctx context.Context, c client.Client) error {
	if !slices.Contains(p.Tenants, p.Namespace) {
		if err := create(ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace}}); err != nil {
			return err
		}
	}
	for _, object := range []client.Object{
		bindAccount(p.Namespace, "hostclaim-host-secrets", hostClaimAccount()),
		bindAccount(p.Namespace, "hostsim-drives", account("hostsim-system", "hostsim")),
		p.policy(),
	} {
		if err := create(ctx, c, object); err != nil {
			return err
		}
	}
	return p.registerServers(ctx, c, 1)
}

// Grow registers that many servers more and returns the larger pool.
func (p Pool) Grow(ctx context.Context, c client.Client, more int) (Pool, error) {
	first := p.Servers + 1
	p.Servers += more
	return p, p.registerServers(ctx, c, first)
}

// GrowPool does so for a pool of which only the namespace is known, and that has servers.
func GrowPool(ctx context.Context, c client.Client, namespace string, more int) (Pool, error) {
	var hosts bmov1alpha1.BareMetalHostList
	if err := c.List(ctx, &hosts, client.InNamespace(namespace)); err != nil {
		return Pool{}, err
	}
	p := Pool{Namespace: namespace}
	for _, host := range hosts.Items {
		number, err := strconv.Atoi(strings.TrimPrefix(host.Name, "server-"))
		if err == nil {
			p.Servers = max(p.Servers, number)
		}
	}
	if p.Servers == 0 {
		return Pool{}, fmt.Errorf("no server is registered in namespace %s: start the dev cluster with some, or the demo", namespace)
	}
	return p.Grow(ctx, c, more)
}

func (p Pool) registerServers(ctx context.Context, c client.Client, first int) error {
	for number := first; number <= p.Servers; number++ {
		if err := p.registerServer(ctx, c, number); err != nil {
			return err
		}
	}
	return nil
}

// WaitAvailable waits until baremetal-operator offers every server of the pool.
func (p Pool) WaitAvailable(ctx context.Context, w *world.World, note func(string)) error {
	return w.Until(ctx, func(ctx context.Context) (string, error) {
		var hosts bmov1alpha1.BareMetalHostList
		if err := w.Hosts.List(ctx, &hosts, client.InNamespace(p.Namespace)); err != nil {
			return "", err
		}
		available := 0
		for _, host := range hosts.Items {
			if host.Status.Provisioning.State == bmov1alpha1.StateAvailable {
				available++
			}
		}
		note(fmt.Sprintf("%d of %d are available", available, p.Servers))
		if available < p.Servers {
			return fmt.Sprintf("%d of %d servers are not available", p.Servers-available, p.Servers), nil
		}
		return "", nil
	})
}

// WaitFree waits until that many servers of the pool are available and have no consumer.
func (p Pool) WaitFree(ctx context.Context, w *world.World, wanted int) error {
	return w.Until(ctx, func(ctx context.Context) (string, error) {
		var hosts bmov1alpha1.BareMetalHostList
		if err := w.Hosts.List(ctx, &hosts, client.InNamespace(p.Namespace)); err != nil {
			return "", err
		}
		free := 0
		for _, host := range hosts.Items {
			if host.Spec.ConsumerRef == nil && host.Status.Provisioning.State == bmov1alpha1.StateAvailable {
				free++
			}
		}
		if free == wanted {
			return "", nil
		}
		return fmt.Sprintf("%d servers are free and should be %d", free, wanted), nil
	})
}

func (p Pool) policy() *bmov1alpha1.HostDeployPolicy {
	admitted := &bmov1alpha1.HostClaimNamespaces{Names: p.Tenants}
	if len(p.Tenants) == 0 {
		admitted.NameMatches = ".+"
	}
	return &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "tenants",
			Namespace:   p.Namespace,
			Annotations: map[string]string{infrav1.PublishLabelsAnnotation: "rack|model"},
		},
		Spec: bmov1alpha1.HostDeployPolicySpec{
			HostClaimNamespaces: admitted,
		},
	}
}

// registerServer creates the host paused, so that its hardware facts are there,
// owned by it, before baremetal-operator looks at it for the first time.
func (p Pool) registerServer(ctx context.Context, c client.Client, number int) error {
	host := p.host(number)
	if err := create(ctx, c, p.password(host)); err != nil {
		return err
	}
	if err := create(ctx, c, host); err != nil {
		return err
	}
	facts := p.hardware(number)
	if err := controllerutil.SetControllerReference(host, facts, c.Scheme()); err != nil {
		return err
	}
	if err := create(ctx, c, facts); err != nil {
		return err
	}
	before := host.DeepCopy()
	delete(host.Annotations, bmov1alpha1.PausedAnnotation)
	if err := c.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("unpause %s: %w", host.Name, err)
	}
	return nil
}

func (p Pool) password(host *bmov1alpha1.BareMetalHost) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: host.Spec.BMC.CredentialsName, Namespace: p.Namespace},
		StringData: map[string]string{"username": "admin", "password": "of-" + host.Name},
	}
}

func (p Pool) host(number int) *bmov1alpha1.BareMetalHost {
	name := serverName(number)
	return &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Namespace:   p.Namespace,
			Labels:      map[string]string{"rack": fmt.Sprintf("a%d", 1+(number-1)%2), "model": "demo"},
			Annotations: map[string]string{bmov1alpha1.PausedAnnotation: ""},
		},
		Spec: bmov1alpha1.BareMetalHostSpec{
			Online:         true,
			BootMACAddress: mac(number, 0),
			InspectionMode: bmov1alpha1.InspectionModeDisabled,
			BMC: bmov1alpha1.BMCDetails{
				Address:         fmt.Sprintf("redfish-virtualmedia://192.0.2.%d/redfish/v1/Systems/1", number),
				CredentialsName: name + "-bmc",
			},
		},
	}
}

// hardware gives each server two network cards with addresses of their own.
func (p Pool) hardware(number int) *bmov1alpha1.HardwareData {
	nic := func(card int) bmov1alpha1.NIC {
		return bmov1alpha1.NIC{
			Name:      fmt.Sprintf("eth%d", card),
			MAC:       mac(number, card),
			IP:        fmt.Sprintf("198.51.100.%d", 2*number+card),
			SpeedGbps: 25,
			PXE:       card == 0,
		}
	}
	return &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{Name: serverName(number), Namespace: p.Namespace},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
			SystemVendor: bmov1alpha1.HardwareSystemVendor{Manufacturer: "Demo", ProductName: "One", SerialNumber: fmt.Sprintf("D%04d", number)},
			RAMMebibytes: 64 << 10,
			NIC:          []bmov1alpha1.NIC{nic(0), nic(1)},
			Storage:      []bmov1alpha1.Storage{{Name: "/dev/sda", Type: bmov1alpha1.SSD, SizeBytes: 480 * bmov1alpha1.GigaByte}},
			CPU:          bmov1alpha1.CPU{Arch: "x86_64", Count: 32},
			Hostname:     serverName(number),
		}},
	}
}

func serverName(number int) string {
	return fmt.Sprintf("server-%d", number)
}

// mac is a locally administered address.
func mac(number, card int) string {
	return fmt.Sprintf("02:00:00:00:%02x:%02x", number, card)
}

func hostClaimAccount() rbacv1.Subject {
	return account("hostclaim-system", "hostclaim-manager")
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// bindAccount lets an account do in one namespace what a ClusterRole allows.
func bindAccount(namespace, role string, subject rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
}

func create(ctx context.Context, c client.Client, object client.Object) error {
	if err := c.Create(ctx, object); err != nil {
		return fmt.Errorf("create %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}
