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
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity/kubeconfig"
)

// Kubeconfigs is a reader of Secrets that hold kubeconfigs in the key "value",
// as Cluster API names them. Get refuses one that is not permitted; the error
// says why, and no part of the Secret is returned.
type Kubeconfigs struct {
	client.Reader

	parsing sync.Mutex // one at a time, so that their memory does not add up
}

// Get reads a Secret, and returns of the kubeconfig in it what client-go may see.
func (k *Kubeconfigs) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	into, ok := object.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("read %T: only Secrets with kubeconfigs are read this way", object)
	}
	found := &corev1.Secret{}
	if err := k.Reader.Get(ctx, key, found, options...); err != nil {
		return err
	}
	k.parsing.Lock()
	defer k.parsing.Unlock()
	text, err := kubeconfig.Clean(found.Data[secret.KubeconfigDataName])
	if err != nil {
		return fmt.Errorf("secret %s: %w", key, err)
	}
	found.Data = map[string][]byte{secret.KubeconfigDataName: text}
	found.DeepCopyInto(into)
	return nil
}
