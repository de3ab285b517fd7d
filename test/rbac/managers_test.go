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

package rbac_test

import (
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	metal3Group = "metal3.io"
	infraGroup  = "infrastructure.cluster.x-k8s.io"
	coreGroup   = "cluster.x-k8s.io"
	ipamGroup   = "ipam.metal3.io"
	capiIPAM    = "ipam.cluster.x-k8s.io"
	rbacGroup   = "rbac.authorization.k8s.io"
	leaseGroup  = "coordination.k8s.io"
)

var anywhere = in(tenantA, tenantB, infra, capm3, hostclaim, unrelated, everywhere)

// infraKinds are the nine kinds of the provider.
var infraKinds = on(infraGroup, "metal3clusters", "metal3clustertemplates", "metal3machines", "metal3machinetemplates",
	"metal3datatemplates", "metal3dataclaims", "metal3datas", "metal3remediations", "metal3remediationtemplates")

// ownPower is what lets a subject give itself more rights.
var ownPower = []rights{
	{all, on(rbacGroup, "roles", "rolebindings", "clusterroles", "clusterrolebindings"), anywhere},
	{[]string{"bind", "escalate"}, on(rbacGroup, "roles", "clusterroles"), anywhere},
	{[]string{"impersonate"}, on("", "users", "groups", "serviceaccounts"), anywhere},
	{[]string{"create"}, on("", "serviceaccounts/token", "pods", "pods/exec"), anywhere},
	{all, on("apps", "deployments", "daemonsets"), anywhere},
}

func TestManagers(t *testing.T) {
	tests := map[string]struct {
		who             subject
		allowed, denied []rights
	}{
		"the provider manager has no verb on hosts and policies, anywhere": {
			who: provider,
			denied: []rights{
				{all, on(metal3Group, "baremetalhosts", "baremetalhosts/status", "baremetalhosts/finalizers", "hostdeploypolicies"), anywhere},
			},
		},
		"the provider manager uses secrets only where a RoleBinding lets it": {
			who: provider,
			allowed: []rights{
				{owned, on("", "secrets"), in(tenantA)},
			},
			denied: []rights{
				{all, on("", "secrets"), in(tenantB, infra, capm3, hostclaim, unrelated, everywhere)},
				{[]string{"update", "deletecollection"}, on("", "secrets"), in(tenantA)},
			},
		},
		"the provider manager works on its own kinds": {
			who: provider,
			allowed: []rights{
				{patched, on(infraGroup, "metal3clusters", "metal3machines", "metal3datatemplates", "metal3dataclaims", "metal3datas", "metal3remediations"), in(tenantA, tenantB, everywhere)},
				{status, on(infraGroup, "metal3clusters/status", "metal3machines/status", "metal3datatemplates/status", "metal3dataclaims/status", "metal3datas/status", "metal3remediations/status"), in(tenantA, tenantB)},
				{[]string{"create", "delete"}, on(infraGroup, "metal3dataclaims", "metal3datas"), in(tenantA, tenantB)},
			},
			denied: []rights{
				{[]string{"create", "delete", "deletecollection"}, on(infraGroup, "metal3clusters", "metal3machines", "metal3machinetemplates", "metal3datatemplates", "metal3remediations"), anywhere},
				{all, on(infraGroup, "metal3remediationtemplates"), anywhere},
			},
		},
		"the provider manager claims hosts and reads what is published of them": {
			who: provider,
			allowed: []rights{
				{owned, on(metal3Group, "hostclaims"), in(tenantA)},
				{read, on(metal3Group, "hostclaims", "hardwaredata"), in(tenantA, tenantB, everywhere)},
			},
			denied: []rights{
				{write, on(metal3Group, "hostclaims"), in(tenantB, infra, everywhere)},
				{write, on(metal3Group, "hostclaims/status", "hardwaredata"), anywhere},
				{[]string{"release", "manage"}, on(metal3Group, "hostclaims"), anywhere},
			},
		},
		"the provider manager reads clusters and machines of Cluster API, and hands machines of its tenants back": {
			who: provider,
			allowed: []rights{
				{read, on(coreGroup, "clusters", "machines", "machinedeployments"), in(tenantA, everywhere)},
				{status, on(coreGroup, "machines/status"), in(tenantA)},
			},
			denied: []rights{
				{write, on(coreGroup, "clusters", "clusters/status", "machines", "machinedeployments"), anywhere},
				{write, on(coreGroup, "machines/status"), in(tenantB, infra, capm3, hostclaim, unrelated, everywhere)},
				{[]string{"update"}, on(coreGroup, "machines/status"), in(tenantA)},
			},
		},
		"the provider manager claims addresses": {
			who: provider,
			allowed: []rights{
				{owned, on(ipamGroup, "ipclaims"), in(tenantA, everywhere)},
				{read, on(ipamGroup, "ippools"), in(tenantA, everywhere)},
				{[]string{"get"}, on(ipamGroup, "ipaddresses"), in(tenantA)},
				{owned, on(capiIPAM, "ipaddressclaims"), in(tenantA, everywhere)},
				{[]string{"get"}, on(capiIPAM, "ipaddresses"), in(tenantA)},
			},
			denied: []rights{
				{write, on(ipamGroup, "ippools", "ipaddresses"), anywhere},
				{write, on(capiIPAM, "ipaddresses"), anywhere},
			},
		},
		"the provider manager elects a leader at home and nowhere else": {
			who: provider,
			allowed: []rights{
				{[]string{"get", "create", "update"}, on(leaseGroup, "leases"), in(capm3)},
			},
			denied: []rights{
				{all, on(leaseGroup, "leases"), in(tenantA, tenantB, infra, hostclaim, unrelated, everywhere)},
			},
		},
		"the provider manager reports events and checks who reads its metrics": {
			who: provider,
			allowed: []rights{
				{[]string{"create", "patch"}, on("events.k8s.io", "events"), in(tenantA, tenantB)},
				{[]string{"create"}, on("authentication.k8s.io", "tokenreviews"), in(everywhere)},
				{[]string{"create"}, on("authorization.k8s.io", "subjectaccessreviews"), in(everywhere)},
			},
		},
		"the provider manager cannot give itself more rights": {who: provider, denied: ownPower},

		"the hostclaim manager has no verb on the kinds of the provider and of Cluster API": {
			who: hostOwner,
			denied: []rights{
				{all, infraKinds, anywhere},
				{all, on(infraGroup, "metal3machines/status", "metal3clusters/status"), anywhere},
				{all, on(coreGroup, "clusters", "machines", "machinesets", "machinedeployments"), anywhere},
				{all, on("bootstrap."+coreGroup, "kubeadmconfigs"), anywhere},
				{all, on("controlplane."+coreGroup, "kubeadmcontrolplanes"), anywhere},
				{all, on(ipamGroup, "ipclaims", "ipaddresses", "ippools"), anywhere},
				{all, on(capiIPAM, "ipaddressclaims", "ipaddresses"), anywhere},
			},
		},
		"the hostclaim manager patches hosts and leaves their status to baremetal-operator": {
			who: hostOwner,
			allowed: []rights{
				{patched, on(metal3Group, "baremetalhosts"), in(infra, tenantA, everywhere)},
			},
			denied: []rights{
				{[]string{"create", "delete", "deletecollection"}, on(metal3Group, "baremetalhosts"), anywhere},
				{write, on(metal3Group, "baremetalhosts/status"), anywhere},
			},
		},
		"the hostclaim manager answers claims, ends reservations and makes no claim": {
			who: hostOwner,
			allowed: []rights{
				{append([]string{"release", "manage", "delete"}, patched...), on(metal3Group, "hostclaims"), in(tenantA, tenantB, infra, everywhere)},
				{status, on(metal3Group, "hostclaims/status"), in(tenantA, tenantB, infra)},
			},
			denied: []rights{
				{[]string{"create", "deletecollection"}, on(metal3Group, "hostclaims"), anywhere},
			},
		},
		"the hostclaim manager publishes hardware facts": {
			who: hostOwner,
			allowed: []rights{
				{owned, on(metal3Group, "hardwaredata"), in(tenantA, tenantB, infra)},
			},
		},
		"the hostclaim manager reads policies and namespaces and changes none": {
			who: hostOwner,
			allowed: []rights{
				{read, on(metal3Group, "hostdeploypolicies"), in(infra, everywhere)},
				{read, on("", "namespaces"), in(everywhere)},
			},
			denied: []rights{
				{write, on(metal3Group, "hostdeploypolicies"), anywhere},
				{write, on("", "namespaces"), in(everywhere)},
			},
		},
		"the hostclaim manager reads secrets of bound tenants and keeps copies next to hosts": {
			who: hostOwner,
			allowed: []rights{
				{read, on("", "secrets"), in(tenantA)},
				{owned, on("", "secrets"), in(infra)},
			},
			denied: []rights{
				{write, on("", "secrets"), in(tenantA)},
				{[]string{"update", "deletecollection"}, on("", "secrets"), in(infra)},
				{all, on("", "secrets"), in(tenantB, capm3, hostclaim, unrelated, everywhere)},
			},
		},
		"the hostclaim manager elects a leader at home and nowhere else": {
			who: hostOwner,
			allowed: []rights{
				{[]string{"get", "create", "update"}, on(leaseGroup, "leases"), in(hostclaim)},
			},
			denied: []rights{
				{all, on(leaseGroup, "leases"), in(tenantA, tenantB, infra, capm3, unrelated, everywhere)},
			},
		},
		"the hostclaim manager reports events and checks who reads its metrics": {
			who: hostOwner,
			allowed: []rights{
				{[]string{"create", "patch"}, on("events.k8s.io", "events"), in(tenantA, infra)},
				{[]string{"create"}, on("authentication.k8s.io", "tokenreviews"), in(everywhere)},
				{[]string{"create"}, on("authorization.k8s.io", "subjectaccessreviews"), in(everywhere)},
			},
		},
		"the hostclaim manager cannot give itself more rights": {who: hostOwner, denied: ownPower},

		"other accounts get nothing from all this": {
			who: stranger,
			denied: []rights{
				{all, on(metal3Group, "baremetalhosts", "hostclaims", "hardwaredata", "hostdeploypolicies"), anywhere},
				{all, infraKinds, anywhere},
				{all, on("", "secrets"), anywhere},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { checkRights(t, test.who, test.allowed, test.denied) })
	}
}

const (
	hostName   = "host-1"
	bmcName    = "host-1-bmc"
	secretName = "user-data"
	claimName  = "machine-1"
)

// createTargets makes the objects that the requests are about.
func createTargets(t *testing.T) {
	t.Helper()
	secret := func(namespace, name string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			StringData: map[string]string{"password": "not for everybody"},
		}
	}
	for _, object := range []client.Object{
		&bmov1alpha1.BareMetalHost{
			ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: hostName},
			Spec:       bmov1alpha1.BareMetalHostSpec{BMC: bmov1alpha1.BMCDetails{Address: "ipmi://192.0.2.1", CredentialsName: bmcName}},
		},
		&bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: tenantA, Name: claimName}},
		secret(infra, bmcName),
		secret(tenantA, secretName),
		secret(tenantB, secretName),
	} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Client.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRequests sends real requests: what SubjectAccessReview answers is what happens.
func TestRequests(t *testing.T) {
	createTargets(t)
	host := func() client.Object { return &bmov1alpha1.BareMetalHost{} }
	claim := func() client.Object { return &bmov1alpha1.HostClaim{} }
	secret := func() client.Object { return &corev1.Secret{} }
	get := func(kind func() client.Object, namespace, name string) request {
		return func(ctx context.Context, c client.WithWatch) error {
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, kind())
		}
	}
	list := func(kind client.ObjectList, namespace string) request {
		return func(ctx context.Context, c client.WithWatch) error {
			return c.List(ctx, kind, client.InNamespace(namespace))
		}
	}
	watch := func(kind client.ObjectList, namespace string) request {
		return func(ctx context.Context, c client.WithWatch) error {
			events, err := c.Watch(ctx, kind, client.InNamespace(namespace))
			if err == nil {
				events.Stop()
			}
			return err
		}
	}
	annotate := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"hostclaim.metal3.io/x":"y"}}}`))
	patch := func(kind func() client.Object, namespace, name string) request {
		return func(ctx context.Context, c client.WithWatch) error {
			object := kind()
			object.SetNamespace(namespace)
			object.SetName(name)
			return c.Patch(ctx, object, annotate, client.DryRunAll)
		}
	}
	patchStatus := func(kind func() client.Object, namespace, name string) request {
		return func(ctx context.Context, c client.WithWatch) error {
			object := kind()
			object.SetNamespace(namespace)
			object.SetName(name)
			poweredOn := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"poweredOn":true}}`))
			return c.Status().Patch(ctx, object, poweredOn)
		}
	}
	tests := map[string]struct {
		who     subject
		send    request
		allowed bool
	}{
		"the provider manager gets no host":                           {who: provider, send: get(host, infra, hostName)},
		"the provider manager lists no hosts of the infrastructure":   {who: provider, send: list(&bmov1alpha1.BareMetalHostList{}, infra)},
		"the provider manager lists no hosts of the cluster":          {who: provider, send: list(&bmov1alpha1.BareMetalHostList{}, everywhere)},
		"the provider manager watches no hosts":                       {who: provider, send: watch(&bmov1alpha1.BareMetalHostList{}, everywhere)},
		"the provider manager patches no host":                        {who: provider, send: patch(host, infra, hostName)},
		"the provider manager gets no BMC secret":                     {who: provider, send: get(secret, infra, bmcName)},
		"the provider manager lists no secrets of the infrastructure": {who: provider, send: list(&corev1.SecretList{}, infra)},
		"the provider manager watches no secrets of the cluster":      {who: provider, send: watch(&corev1.SecretList{}, everywhere)},
		"the provider manager gets no secret of an unbound tenant":    {who: provider, send: get(secret, tenantB, secretName)},
		"the provider manager gets a secret of a bound tenant":        {who: provider, send: get(secret, tenantA, secretName), allowed: true},
		"the provider manager watches secrets of a bound tenant":      {who: provider, send: watch(&corev1.SecretList{}, tenantA), allowed: true},
		"the provider manager patches a claim":                        {who: provider, send: patch(claim, tenantA, claimName), allowed: true},
		"the provider manager does not say that a claim is granted":   {who: provider, send: patchStatus(claim, tenantA, claimName)},
		"the hostclaim manager patches a host":                        {who: hostOwner, send: patch(host, infra, hostName), allowed: true},
		"the hostclaim manager says that a claim is granted":          {who: hostOwner, send: patchStatus(claim, tenantA, claimName), allowed: true},
		"the hostclaim manager gets a secret of a bound tenant":       {who: hostOwner, send: get(secret, tenantA, secretName), allowed: true},
		"the hostclaim manager patches no secret of a tenant":         {who: hostOwner, send: patch(secret, tenantA, secretName)},
		"the hostclaim manager gets no secret of an unbound tenant":   {who: hostOwner, send: get(secret, tenantB, secretName)},
		"a tenant gets no host":                                       {who: tenant, send: get(host, infra, hostName)},
		"a tenant lists no hosts, not even at home":                   {who: tenant, send: list(&bmov1alpha1.BareMetalHostList{}, tenantA)},
		"a tenant gets no BMC secret":                                 {who: tenant, send: get(secret, infra, bmcName)},
		"a tenant gets no secret of another tenant":                   {who: tenant, send: get(secret, tenantB, secretName)},
		"a tenant lists no claims of the cluster":                     {who: tenant, send: list(&bmov1alpha1.HostClaimList{}, everywhere)},
		"a tenant patches its claim":                                  {who: tenant, send: patch(claim, tenantA, claimName), allowed: true},
		"a tenant does not say that its claim is granted":             {who: tenant, send: patchStatus(claim, tenantA, claimName)},
		"the infrastructure team gets a BMC secret":                   {who: admin, send: get(secret, infra, bmcName), allowed: true},
		"the infrastructure team gets no secret of a tenant":          {who: admin, send: get(secret, tenantA, secretName)},
		"an auditor gets a host":                                      {who: auditor, send: get(host, infra, hostName), allowed: true},
		"an auditor gets no BMC secret":                               {who: auditor, send: get(secret, infra, bmcName)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.send.expect(t, test.who, test.allowed)
		})
	}
}

// request is one call to the API server.
type request func(ctx context.Context, c client.WithWatch) error

// expect sends the request as a subject, and checks whether it is allowed.
func (r request) expect(t *testing.T, who subject, allowed bool) {
	t.Helper()
	c, err := client.NewWithWatch(who.config(), client.Options{Scheme: server.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	err = r(t.Context(), c)
	switch {
	case allowed && err != nil:
		t.Errorf("refused: %v", err)
	case !allowed && !apierrors.IsForbidden(err):
		t.Errorf("answered with %v, want Forbidden", err)
	}
}

// What a manager can find out about itself, before it tries.
func TestSelfReview(t *testing.T) {
	tests := map[string]struct {
		who      subject
		question authorizationv1.ResourceAttributes
		want     bool
	}{
		"the provider manager knows that it gets no host": {
			who:      provider,
			question: authorizationv1.ResourceAttributes{Verb: "get", Group: metal3Group, Resource: "baremetalhosts", Namespace: infra},
		},
		"the provider manager knows that it gets no BMC secret": {
			who:      provider,
			question: authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: infra, Name: bmcName},
		},
		"the provider manager knows in which namespace it gets secrets": {
			who:      provider,
			question: authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: tenantA},
			want:     true,
		},
		"the hostclaim manager knows that it gets no machine": {
			who:      hostOwner,
			question: authorizationv1.ResourceAttributes{Verb: "get", Group: infraGroup, Resource: "metal3machines", Namespace: tenantA},
		},
		"a tenant knows that it gets no host": {
			who:      tenant,
			question: authorizationv1.ResourceAttributes{Verb: "get", Group: metal3Group, Resource: "baremetalhosts", Namespace: infra},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := client.New(test.who.config(), client.Options{Scheme: server.Scheme})
			if err != nil {
				t.Fatal(err)
			}
			review := &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &test.question},
			}
			if err := c.Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != test.want {
				t.Errorf("allowed %t, want %t; %s", review.Status.Allowed, test.want, review.Status.Reason)
			}
		})
	}
}
