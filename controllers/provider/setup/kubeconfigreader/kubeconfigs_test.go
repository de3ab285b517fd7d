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

package kubeconfigreader

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity/kubeconfig"
)

// one is a reader that knows a single kubeconfig.
type one struct {
	client.Reader
	kubeconfig string
}

func (o one) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	into, ok := object.(*corev1.Secret)
	if !ok {
		return errors.New("not a Secret")
	}
	into.Name = key.Name
	into.Data = map[string][]byte{"value": []byte(o.kubeconfig)}
	return nil
}

func TestKubeconfigs(t *testing.T) {
	const head = "apiVersion: v1\nkind: Config\nclusters: [{name: k, cluster: {server: 'https://203.0.113.7'}}]\n" +
		"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
	key := client.ObjectKey{Namespace: "tenant-b", Name: "evil-kubeconfig"}

	t.Run("hands out a kubeconfig with an embedded token", func(t *testing.T) {
		got := &corev1.Secret{}
		good := head + "users: [{name: u, user: {token: t}}]"
		if err := (&Kubeconfigs{Reader: one{kubeconfig: good}}).Get(t.Context(), key, got); err != nil {
			t.Fatal(err)
		}
		config, err := clientcmd.RESTConfigFromKubeConfig(got.Data["value"])
		if err != nil {
			t.Fatal(err)
		}
		if config.Host != "https://203.0.113.7" || config.BearerToken != "t" {
			t.Errorf("client-go is given %s", got.Data["value"])
		}
	})
	for name, evil := range map[string]string{
		"a file of the manager": head + "users: [{name: u, user: {tokenFile: /token}}]",
		"memory":                head + "users: [{name: u, user: {token: t}}]\na: &a xxx\nb: [*a, *a]",
		"a proxy":               strings.Replace(head, "cluster: {", "cluster: {proxy-url: 'http://192.0.2.1', ", 1) + "users: [{name: u, user: {token: t}}]",
	} {
		t.Run("withholds one that asks for "+name, func(t *testing.T) {
			got := &corev1.Secret{}
			err := (&Kubeconfigs{Reader: one{kubeconfig: evil}}).Get(t.Context(), key, got)
			var forbidden *kubeconfig.ForbiddenError
			if !errors.As(err, &forbidden) {
				t.Errorf("error %v, want a ForbiddenError", err)
			}
			if diff := cmp.Diff(&corev1.Secret{}, got); diff != "" {
				t.Errorf("something was returned all the same:\n%s", diff)
			}
		})
	}
	t.Run("reads nothing else", func(t *testing.T) {
		if err := (&Kubeconfigs{Reader: one{}}).Get(t.Context(), key, &corev1.ConfigMap{}); err == nil {
			t.Error("a ConfigMap was read")
		}
	})
}
