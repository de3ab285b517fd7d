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
	expect.NoError(t, Check(newClaim()))
	expect.Error(t, "hostSelector", Check(newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Spec.HostSelector.MatchLabels = map[string]string{"rack": "1"}
	})))
	expect.Error(t, "customDeploy", Check(newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "install"}
	})))
}

func TestCheckImage(t *testing.T) {
	const ephemeral = `{"instancetype":{"name":"small"}}`
	tests := map[string]struct{ class, url, want string }{
		"by HTTP":                 {class: small, url: "https://images.example.com/a"},
		"in a registry":           {class: small, url: "oci://registry.example.com/a:1"},
		"by FTP":                  {class: small, url: "ftp://images.example.com/a", want: "http://, https:// or oci://"},
		"by HTTP, without a disk": {class: ephemeral, url: "https://images.example.com/a", want: "no rootDisk"},
		"in a registry, without":  {class: ephemeral, url: "oci://registry.example.com/a:1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Spec.Image.URL = tt.url })
			err := CheckImage(claim, parametersOf(t, tt.class))
			if tt.want == "" {
				expect.NoError(t, err)
				return
			}
			expect.Error(t, tt.want, err)
		})
	}
}

func TestSoftFailureDomainIsAPreference(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Spec.FailureDomain = "a"
		c.Annotations = map[string]string{infrav1.SoftFailureDomainAnnotation: "true"}
	})
	vm := New(claim, parametersOf(t, small))
	expect.Equal(t, 0, len(vm.Spec.Template.Spec.NodeSelector))
	expect.Equal(t, 1, len(vm.Spec.Template.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution))
	_, told := Hardware(claim, vm).Annotations[infrav1.HostFailureDomainAnnotation]
	expect.That(t, !told, "HardwareData names a failure domain that the machine may not be in")
}

// TestStripKeepsWhatIsCompared holds what the cache has of HardwareData to what is published.
func TestStripKeepsWhatIsCompared(t *testing.T) {
	claim := newClaim()
	published := Hardware(claim, New(claim, parametersOf(t, small)))
	stripped := published.DeepCopy()
	Strip(stripped)
	expect.Equal(t, published, stripped)
	large := published.DeepCopy()
	large.Spec.HardwareDetails.Hostname = strings.Repeat("a", 1<<20)
	large.Spec.HardwareDetails.NIC = make([]bmov1alpha1.NIC, 1<<10)
	Strip(large)
	expect.That(t, len(large.Spec.HardwareDetails.Hostname) < 64 && len(large.Spec.HardwareDetails.NIC) < 64, "it is as large as before")
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

// instanceOf is what runs of a virtual machine.
func instanceOf(vm *virtv1.VirtualMachine) *virtv1.VirtualMachineInstance {
	return &virtv1.VirtualMachineInstance{
		Spec: *vm.Spec.Template.Spec.DeepCopy(), Status: virtv1.VirtualMachineInstanceStatus{Phase: virtv1.Running},
	}
}

func withHold(claim *bmov1alpha1.HostClaim) {
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, bmov1alpha1.RebootAnnotationPrefix+"/remediation", "")
}

func TestNext(t *testing.T) {
	bare := New(newClaim(), parametersOf(t, small))
	on, off := deployed(t, virtv1.RunStrategyAlways), deployed(t, virtv1.RunStrategyHalted)
	rebuilt := deployed(t, virtv1.RunStrategyAlways, withRebuild)
	other := instanceOf(on)
	other.Spec.Volumes[1].Secret.SecretName = "other"
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
		"it waits for an image":                     {newClaim(withoutImage), bare, nil, Keep},
		"an image comes":                            {newClaim(), bare, nil, Install},
		"an image comes, and it is to be off":       {newClaim(withPowerOff), bare, nil, Keep},
		"it was started without a disk":             {newClaim(), bare, instanceOf(bare), Await},
		"it runs":                                   {newClaim(), on, instanceOf(on), Keep},
		"it runs from another disk":                 {newClaim(), on, other, Stop},
		"it is to be off":                           {newClaim(withPowerOff), on, instanceOf(on), SetPower},
		"it is off":                                 {newClaim(withPowerOff), off, nil, Keep},
		"it is to be on":                            {newClaim(), off, nil, SetPower},
		"it is held off":                            {newClaim(withHold), on, instanceOf(on), SetPower},
		"it stays held off":                         {newClaim(withHold), off, nil, Keep},
		"a rebuild of one that runs":                {newClaim(withRebuild), on, instanceOf(on), Stop},
		"a rebuild of one that stops":               {newClaim(withRebuild), off, instanceOf(off), Await},
		"a rebuild of one that is to be on":         {newClaim(withRebuild), off, nil, Install},
		"a rebuild of one that is to be off":        {newClaim(withRebuild, withPowerOff), off, nil, Wipe},
		"a rebuild that was done":                   {newClaim(withRebuild), rebuilt, instanceOf(rebuilt), Keep},
		"the annotation for a rebuild is taken off": {newClaim(), rebuilt, instanceOf(rebuilt), Keep},
		"the annotation for a rebuild is too long":  {long, on, instanceOf(on), Keep},
		"the image goes":                            {newClaim(withoutImage), on, instanceOf(on), Stop},
		"the image goes, and it is off":             {newClaim(withoutImage), off, nil, Wipe},
		"the disk before is there yet":              {newClaim(), unclean, nil, Erase},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Next(tt.claim, tt.vm, tt.instance)) })
	}
}

func TestPhases(t *testing.T) {
	vm := deployed(t, virtv1.RunStrategyAlways)
	tests := map[virtv1.VirtualMachineInstancePhase]struct{ on, runs bool }{
		virtv1.Running: {true, true}, virtv1.Scheduling: {true, false}, virtv1.Unknown: {true, false},
		virtv1.Succeeded: {false, false}, virtv1.Failed: {false, false},
	}
	for phase, want := range tests {
		instance := instanceOf(vm)
		instance.Status.Phase = phase
		expect.Equal(t, []bool{want.on, want.runs}, []bool{On(instance), Runs(vm, instance)})
	}
	expect.That(t, !On(nil) && !Runs(vm, nil), "nothing runs")
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
