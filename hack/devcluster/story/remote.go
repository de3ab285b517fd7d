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
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
)

// Onboarding lets a tenant at the hosts of another cluster, with the program that
// an infrastructure team would use.
type Onboarding struct {
	Repo components.Repo
	// Hosts and Management are kubeconfigs of administrators: of the cluster with
	// the hosts, and of the one where the tenant works.
	Hosts, Management string
	// Claims is the tenant's namespace beside the hosts, and Namespace the one where
	// its clusters are.
	Claims, Namespace string
	// Secret is what the identityRef of its clusters names.
	Secret string
	// Servers is how many it may have; 0 for no limit.
	Servers int
	// Resident is true if its clusters were in the namespace Claims before.
	Resident bool
	// Expiry is how long its credential is good.
	Expiry time.Duration
}

// Run creates everything, or renews it, and returns the output of the program.
func (o Onboarding) Run(ctx context.Context) (string, error) {
	found, err := components.Lookup(components.Tenant)
	if err != nil {
		return "", err
	}
	program, err := o.Repo.Binary(found[0])
	if err != nil {
		return "", err
	}
	said, err := exec.CommandContext(ctx, program,
		"--kubeconfig", o.Hosts, "--namespace", o.Claims, "--servers", fmt.Sprint(o.Servers), fmt.Sprintf("--resident=%t", o.Resident), "--expiry", o.Expiry.String(),
		"--management-kubeconfig", o.Management, "--management-namespace", o.Namespace, "--secret", o.Secret).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", program, err, said)
	}
	return string(said), nil
}

// OwnerOf prepares a namespace for clusters in a management cluster that belongs to
// the tenant itself, who is its administrator.
func OwnerOf(ctx context.Context, admin client.Client, c *cluster.Cluster, namespace string) (*Tenant, error) {
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		bindAccount(namespace, "capm3-tenant-secrets", account("capm3-system", "capm3-manager")),
	} {
		if err := create(ctx, admin, object); err != nil {
			return nil, err
		}
	}
	return &Tenant{Namespace: namespace, Kubeconfig: cluster.AdminKubeconfig(c.Dir), Config: c.Admin, Client: admin}, nil
}
