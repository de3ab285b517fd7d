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

package onboard

import (
	"fmt"
	"os"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/onboard"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// patience is how long the API server may take to hear of a binding.
const patience = 20 * time.Second

// server plays both clusters: the one with the hosts, and that of the tenant.
var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	os.Exit(server.Run(m))
}

// newPlan is for a tenant with a namespace and an account namespace of its own,
// and a home in a third one.
func newPlan(t *testing.T) onboard.Plan {
	t.Helper()
	home := server.Namespace(t, "clusters", nil)
	access, err := onboard.AccessOf(server.Config, onboard.Seen{})
	must(t, err)
	return onboard.Plan{
		Tenant: grant.Tenant{
			Namespace:        home + "-claims",
			Account:          types.NamespacedName{Namespace: home + "-accounts", Name: "blue"},
			HostClaimManager: types.NamespacedName{Namespace: "hostclaim-system", Name: "hostclaim-manager"},
			Servers:          5,
			Expiry:           time.Hour,
		},
		Home:   grant.Home{Namespace: home, Secret: "hosts"},
		Access: access,
	}
}

// letIn carries the plan out and returns what the Secret opens.
func letIn(t *testing.T, plan onboard.Plan) *rest.Config {
	t.Helper()
	result, err := onboard.Run(t.Context(), plan, server.Client, server.Client)
	must(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(result.Secret.Data["kubeconfig"])
	must(t, err)
	return config
}

func connect(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	config.QPS = -1 // hundreds of questions
	c, err := client.NewWithWatch(config, client.Options{Scheme: server.Scheme})
	must(t, err)
	return c
}

func claim(namespace, name string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"a": "b"}},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// describe names an object in a message.
func describe(object client.Object) string {
	return fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())
}
