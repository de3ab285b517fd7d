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

package virtualmachine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/networkconfig"
)

// Boot is what the Secrets of a claim hold for the first boot, by the keys of package secretkeys. What the claim does not
// name is missing.
type Boot map[string][]byte

// Faults of a Secret, none of which shows what is in it.
var (
	errIgnition = errors.New("it is Ignition, and virtual machines boot with cloud-init: have the bootstrap provider write cloud-config")
	errFormat   = errors.New("it is no object in YAML or JSON: correct it")
)

// BootSecret is what the virtual machine of a claim boots with once it has its next disk: the files of the data source
// NoCloud of cloud-init. The key that the error returns is the one in boot that is to be mended.
func BootSecret(vm *virtv1.VirtualMachine, boot Boot) (secret *corev1.Secret, key string, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(boot[secretkeys.UserData]), []byte("{")) {
		return nil, secretkeys.UserData, errIgnition
	}
	meta := map[string]any{}
	if yaml.Unmarshal(boot[secretkeys.MetaData], &meta) != nil { // whose error shows what it has read
		return nil, secretkeys.MetaData, errFormat
	}
	if meta == nil {
		meta = map[string]any{}
	}
	meta["instance-id"] = NextDisk(vm) // a new one has cloud-init start anew
	meta["local-hostname"] = cmp.Or(meta["local-hostname"], any(vm.Name))
	metaData, err := yaml.Marshal(meta)
	if err != nil {
		return nil, secretkeys.MetaData, errFormat
	}
	network, err := networkconfig.FromNetworkData(boot[secretkeys.NetworkData])
	if err != nil {
		return nil, secretkeys.NetworkData, fmt.Errorf("it cannot be used: %w", err)
	}
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: vm.Namespace, Name: NextDisk(vm), Labels: map[string]string{ClaimLabel: vm.Labels[ClaimLabel]},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vm, virtv1.VirtualMachineGroupVersionKind)},
		},
		Data: map[string][]byte{"user-data": boot[secretkeys.UserData], "meta-data": metaData},
	}
	if network != nil {
		secret.Data["network-config"] = network
	}
	return secret, "", nil
}
