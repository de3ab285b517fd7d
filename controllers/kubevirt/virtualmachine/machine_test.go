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
	"net"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	virtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func newClaim(changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "machine", UID: "11111111-2222-3333-4444-555555555555"},
		Spec:       bmov1alpha1.HostClaimSpec{PoweredOn: true, Image: &bmov1alpha1.Image{URL: "https://images.example.com/a.qcow2"}},
	}
	for _, change := range changes {
		change(claim)
	}
	return claim
}

func withoutImage(claim *bmov1alpha1.HostClaim) { claim.Spec.Image = nil }
func withPowerOff(claim *bmov1alpha1.HostClaim) { claim.Spec.PoweredOn = false }
func withRebuild(claim *bmov1alpha1.HostClaim) {
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.RebuildAnnotation, "again")
}

func parametersOf(t *testing.T, text string) Parameters {
	t.Helper()
	p, err := ParametersOf(&runtime.RawExtension{Raw: []byte(text)})
	expect.NoError(t, err)
	return p
}

const small = `{"instancetype":{"name":"small"},"instancetypes":["large"],"rootDisk":{"size":"20Gi"}}`

func TestParametersOf(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"the least":                     {text: `{"instancetype":{"name":"small"}}`},
		"no instancetype":               {text: `{}`, want: "instancetype.name is missing"},
		"an unknown field":              {text: `{"instancetype":{"name":"small"},"cores":2}`, want: `unknown field "cores"`},
		"another type":                  {text: `"small"`, want: "spec.parameters"},
		"a disk of no size":             {text: `{"instancetype":{"name":"small"},"rootDisk":{}}`, want: "rootDisk.size must be positive"},
		"the network of Pods twice":     {text: `{"instancetype":{"name":"small"},"networks":[{},{}]}`, want: "network of Pods twice"},
		"a network of another name":     {text: `{"instancetype":{"name":"small"},"networks":[{"networkName":"a/b"},{"networkName":"c"}]}`},
		"a network that cannot be":      {text: `{"instancetype":{"name":"small"},"networks":[{"networkName":"a/b/c"}]}`, want: "networks[0].networkName"},
		"a topology key that cannot be": {text: `{"instancetype":{"name":"small"},"topologyKey":"a b"}`, want: "topologyKey"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParametersOf(&runtime.RawExtension{Raw: []byte(tt.text)})
			if tt.want == "" {
				expect.NoError(t, err)
				return
			}
			expect.Error(t, tt.want, err)
		})
	}
	_, err := ParametersOf(nil)
	expect.Error(t, "name an instancetype", err)
}

func TestArgumentsChooseAmongWhatTheClassOffers(t *testing.T) {
	p := parametersOf(t, small)
	chosen, err := p.With(map[string]string{"instancetype": "large"})
	expect.NoError(t, err)
	expect.Equal(t, "large", chosen.Instancetype.Name)
	expect.Equal(t, "small", p.Instancetype.Name)
	_, err = p.With(map[string]string{"instancetype": "huge"})
	expect.Error(t, "the class offers small, large", err)
	_, err = p.With(map[string]string{"cores": "2"})
	expect.Error(t, `no argument "cores"`, err)
}

// TestNames holds names to what the API server takes, also with all that is added to them.
func TestNames(t *testing.T) {
	for _, name := range []string{"machine", strings.Repeat("a", 253), strings.Repeat("b", 42) + "." + strings.Repeat("c", 60), "a.b.c"} {
		claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Name = name })
		vm := New(claim, parametersOf(t, small))
		expect.Equal(t, []string(nil), validation.IsDNS1123Label(vm.Name))
		vm.Generation = 123456789
		expect.Equal(t, []string(nil), validation.IsDNS1123Label(NextDisk(vm)))
	}
}

func TestCardsAreKnownBeforeTheMachineRuns(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = "a" })
	vm := New(claim, parametersOf(t, `{"instancetype":{"name":"small"},"networks":[{},{"networkName":"storage"}]}`))
	seen := map[string]bool{}
	for i, nic := range Hardware(claim, vm).Spec.HardwareDetails.NIC {
		address, err := net.ParseMAC(nic.MAC)
		expect.NoError(t, err)
		expect.That(t, address[0]&3 == 2, "%s is not a locally administered address of one station", nic.MAC)
		expect.Equal(t, cardName(i), nic.Name)
		seen[nic.MAC] = true
	}
	expect.Equal(t, 2, len(seen))
	expect.Equal(t, map[string]string{"topology.kubernetes.io/zone": "a"}, vm.Spec.Template.Spec.NodeSelector)
	expect.That(t, vm.Spec.Template.Spec.Networks[1].Multus.NetworkName == "storage", "the second card is not on the network storage")
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		class, want string
		change      func(*bmov1alpha1.HostClaim)
	}{
		"an image by HTTP": {class: small, change: func(*bmov1alpha1.HostClaim) {}},
		"a host selector": {class: small, want: "hostSelector", change: func(c *bmov1alpha1.HostClaim) {
			c.Spec.HostSelector.MatchLabels = map[string]string{"rack": "1"}
		}},
		"a custom deploy": {class: small, want: "customDeploy", change: func(c *bmov1alpha1.HostClaim) {
			c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "install"}
		}},
		"an image by FTP": {class: small, want: "http://, https:// or oci://", change: func(c *bmov1alpha1.HostClaim) {
			c.Spec.Image.URL = "ftp://images.example.com/a"
		}},
		"an image by HTTP, without a disk": {class: `{"instancetype":{"name":"small"}}`, want: "no rootDisk", change: func(*bmov1alpha1.HostClaim) {}},
		"an image in a registry": {class: `{"instancetype":{"name":"small"}}`, change: func(c *bmov1alpha1.HostClaim) {
			c.Spec.Image.URL = "oci://registry.example.com/a:1"
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := Check(newClaim(tt.change), parametersOf(t, tt.class))
			if tt.want == "" {
				expect.NoError(t, err)
				return
			}
			expect.Error(t, tt.want, err)
		})
	}
}

// deployed is a virtual machine with a disk.
func deployed(t *testing.T, strategy virtv1.VirtualMachineRunStrategy, changes ...func(*bmov1alpha1.HostClaim)) *virtv1.VirtualMachine {
	t.Helper()
	claim := newClaim(changes...)
	vm := New(claim, parametersOf(t, small))
	expect.NoError(t, Deploy(vm, claim, parametersOf(t, small)))
	Cleaned(vm)
	vm.Spec.RunStrategy = ptr.To(strategy)
	return vm
}

func TestNext(t *testing.T) {
	bare := New(newClaim(), parametersOf(t, small))
	runs := &virtv1.VirtualMachineInstance{Status: virtv1.VirtualMachineInstanceStatus{Phase: virtv1.Running}}
	long := newClaim(func(c *bmov1alpha1.HostClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.RebuildAnnotation, strings.Repeat("a", 64))
	})
	unclean := deployed(t, virtv1.RunStrategyAlways)
	Clear(unclean)
	tests := map[string]struct {
		claim    *bmov1alpha1.HostClaim
		vm       *virtv1.VirtualMachine
		instance *virtv1.VirtualMachineInstance
		want     Step
	}{
		"it waits for an image":        {newClaim(withoutImage), bare, nil, Keep},
		"an image comes":               {newClaim(), bare, nil, Install},
		"it runs":                      {newClaim(), deployed(t, virtv1.RunStrategyAlways), runs, Keep},
		"it is to be off":              {newClaim(withPowerOff), deployed(t, virtv1.RunStrategyAlways), runs, SetPower},
		"it is off":                    {newClaim(withPowerOff), deployed(t, virtv1.RunStrategyHalted), nil, Keep},
		"it is to be on":               {newClaim(), deployed(t, virtv1.RunStrategyHalted), nil, SetPower},
		"a rebuild of one that runs":   {newClaim(withRebuild), deployed(t, virtv1.RunStrategyAlways), runs, Stop},
		"a rebuild of one that stops":  {newClaim(withRebuild), deployed(t, virtv1.RunStrategyHalted), runs, Await},
		"a rebuild of one that is off": {newClaim(withRebuild), deployed(t, virtv1.RunStrategyHalted), nil, Install},
		"a rebuild that was done":      {newClaim(withRebuild), deployed(t, virtv1.RunStrategyAlways, withRebuild), runs, Keep},
		"its annotation is taken away": {newClaim(), deployed(t, virtv1.RunStrategyAlways, withRebuild), runs, Keep},
		"its annotation is too long":   {long, deployed(t, virtv1.RunStrategyAlways), runs, Keep},
		"the image goes":               {newClaim(withoutImage), deployed(t, virtv1.RunStrategyAlways), runs, Stop},
		"the image goes, it is off":    {newClaim(withoutImage), deployed(t, virtv1.RunStrategyHalted), nil, Wipe},
		"the disk before is there yet": {newClaim(), unclean, nil, Erase},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Next(tt.claim, tt.vm, tt.instance)) })
	}
}

// TestInstalled holds an instance that KubeVirt has started from an older disk to be another one.
func TestInstalled(t *testing.T) {
	vm := deployed(t, virtv1.RunStrategyAlways)
	instance := &virtv1.VirtualMachineInstance{Spec: vm.Spec.Template.Spec, Status: virtv1.VirtualMachineInstanceStatus{Phase: virtv1.Running}}
	expect.That(t, Installed(vm, instance, false), "the instance runs from the disk")
	expect.That(t, Installed(vm, nil, true), "the disk is complete, and the machine off")
	expect.That(t, !Installed(vm, nil, false), "nothing runs")
	older := instance.DeepCopy()
	older.Spec.Volumes[1].Secret.SecretName = "older"
	expect.That(t, !Installed(vm, older, true), "the instance runs from another disk")
	starting := instance.DeepCopy()
	starting.Status.Phase = virtv1.Scheduling
	expect.That(t, !Installed(vm, starting, true), "the instance does not run yet")
}

func TestDeploy(t *testing.T) {
	claim := newClaim(withRebuild)
	vm := New(claim, parametersOf(t, small))
	vm.Generation = 3
	expect.NoError(t, Deploy(vm, claim, parametersOf(t, small)))
	expect.Equal(t, vm.Name+"-3", Disk(vm))
	expect.Equal(t, claim.Spec.Image.URL, Image(vm))
	expect.Equal(t, claim.Spec.Image.URL, vm.Spec.DataVolumeTemplates[0].Spec.Source.HTTP.URL)
	expect.Equal(t, Disk(vm), vm.Spec.Template.Spec.Volumes[1].Secret.SecretName)
	vm.Generation = 4
	expect.NoError(t, Deploy(vm, claim, parametersOf(t, small)))
	expect.Equal(t, vm.Name+"-4", Disk(vm))
	expect.That(t, Unclean(vm), "the disk before is not to be deleted")
	expect.Equal(t, 1, len(vm.Spec.DataVolumeTemplates))
	expect.Equal(t, 2, len(vm.Spec.Template.Spec.Domain.Devices.Disks))
	Clear(vm)
	expect.Equal(t, "", Disk(vm))
	expect.Equal(t, 0, len(vm.Spec.Template.Spec.Volumes))
}

func TestBootSecret(t *testing.T) {
	vm := New(newClaim(), parametersOf(t, small))
	secret, _, err := BootSecret(vm, Boot{
		secretkeys.UserData: []byte("#cloud-config\n"),
		secretkeys.MetaData: []byte("local-hostname: node-1\nprovider: metal3\n"),
	})
	expect.NoError(t, err)
	expect.Equal(t, map[string]string{
		"user-data": "#cloud-config\n", "meta-data": "instance-id: " + NextDisk(vm) + "\nlocal-hostname: node-1\nprovider: metal3\n",
	}, texts(secret.Data))
	secret, _, err = BootSecret(vm, nil)
	expect.NoError(t, err)
	expect.Equal(t, "instance-id: "+NextDisk(vm)+"\nlocal-hostname: "+vm.Name+"\n", string(secret.Data["meta-data"]))

	for key, wrong := range map[string]string{
		secretkeys.UserData: `{"ignition": "hidden-word"}`, secretkeys.MetaData: `- hidden-word`, secretkeys.NetworkData: `- hidden-word`,
	} {
		_, named, err := BootSecret(vm, Boot{key: []byte(wrong)})
		expect.Error(t, "it", err)
		expect.Equal(t, key, named)
		expect.That(t, !strings.Contains(err.Error(), "hidden-word"), "the error shows the Secret: %v", err)
	}
}

func texts(data map[string][]byte) map[string]string {
	out := map[string]string{}
	for key, value := range data {
		out[key] = string(value)
	}
	return out
}
