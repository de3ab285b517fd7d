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
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	virtv1 "kubevirt.io/api/core/v1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

const (
	// ClaimLabel is on all that is made for a HostClaim: its UID.
	ClaimLabel = "kubevirt.hostclaim.metal3.io/claim-uid"
	// imageAnnotation is on a VirtualMachine with a disk: the URL of its image, as the claim had it.
	imageAnnotation = "kubevirt.hostclaim.metal3.io/image"
	// diskAnnotation is on a VirtualMachine with a disk: the name of its DataVolume, if it has one, and of the Secret that
	// it boots from.
	diskAnnotation = "kubevirt.hostclaim.metal3.io/disk"
	// cleanupAnnotation is on a VirtualMachine that got or lost a disk, until what it had before is deleted.
	cleanupAnnotation = "kubevirt.hostclaim.metal3.io/cleanup"

	// maxNameLength leaves room for what is added to the name of a VirtualMachine. The name is a label, and that of the
	// guest.
	maxNameLength = 52
)

// The names of the disks and volumes of a virtual machine.
const (
	rootVolume = "root"
	bootVolume = "boot"
)

// Name is the name of the virtual machine of a claim. It is found again by it.
func Name(claim *bmov1alpha1.HostClaim) string {
	uid, _, _ := strings.Cut(string(claim.UID), "-")
	name := strings.ReplaceAll(claim.Name, ".", "-")
	return strings.TrimRight(name[:min(len(name), maxNameLength-len(uid)-1)], "-") + "-" + uid
}

// New is the virtual machine of a claim as it is given: off, and without a disk.
func New(claim *bmov1alpha1.HostClaim, p Parameters) *virtv1.VirtualMachine {
	vm := &virtv1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: Name(claim), Labels: map[string]string{ClaimLabel: string(claim.UID)},
		},
		Spec: virtv1.VirtualMachineSpec{
			RunStrategy: ptr.To(virtv1.RunStrategyHalted), Instancetype: p.Instancetype, Preference: p.Preference,
			Template: &virtv1.VirtualMachineInstanceTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{ClaimLabel: string(claim.UID)}},
			},
		},
	}
	spec := &vm.Spec.Template.Spec
	for i, n := range p.Networks {
		spec.Networks = append(spec.Networks, network(i, n))
		spec.Domain.Devices.Interfaces = append(spec.Domain.Devices.Interfaces, card(claim.UID, i, n))
	}
	place(spec, claim, p)
	return vm
}

// place has a virtual machine run in the failure domain of its claim, or rather there than elsewhere.
func place(spec *virtv1.VirtualMachineInstanceSpec, claim *bmov1alpha1.HostClaim, p Parameters) {
	switch {
	case claim.Spec.FailureDomain == "":
	case soft(claim):
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: p.TopologyKey, Operator: corev1.NodeSelectorOpIn, Values: []string{claim.Spec.FailureDomain},
				}}},
			}},
		}}
	default:
		spec.NodeSelector = map[string]string{p.TopologyKey: claim.Spec.FailureDomain}
	}
}

func soft(claim *bmov1alpha1.HostClaim) bool {
	return claim.Annotations[infrav1.SoftFailureDomainAnnotation] == "true"
}

// Is reports whether a virtual machine is that of a claim.
func Is(vm *virtv1.VirtualMachine, claim *bmov1alpha1.HostClaim) bool {
	return vm.Labels[ClaimLabel] == string(claim.UID)
}

// cardName is what a data template calls a card of a virtual machine.
func cardName(index int) string { return "eth" + strconv.Itoa(index) }

func network(index int, n Network) virtv1.Network {
	network := virtv1.Network{Name: cardName(index), NetworkSource: virtv1.NetworkSource{Pod: &virtv1.PodNetwork{}}}
	if n.NetworkName != "" {
		network.NetworkSource = virtv1.NetworkSource{Multus: &virtv1.MultusNetwork{NetworkName: n.NetworkName}}
	}
	return network
}

func card(claim types.UID, index int, n Network) virtv1.Interface {
	out := virtv1.Interface{Name: cardName(index), MacAddress: mac(claim, index)}
	if n.NetworkName == "" {
		out.InterfaceBindingMethod = virtv1.InterfaceBindingMethod{Masquerade: &virtv1.InterfaceMasquerade{}}
	} else {
		out.InterfaceBindingMethod = virtv1.InterfaceBindingMethod{Bridge: &virtv1.InterfaceBridge{}}
	}
	return out
}

// mac is a locally administered address (IEEE 802), known before the virtual machine runs, so that data is rendered with
// it.
func mac(claim types.UID, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", claim, index))
	address := net.HardwareAddr(sum[:6])
	address[0] = address[0]&^1 | 2
	return address.String()
}

// Hardware is what data templates may ask of a virtual machine, owned by its claim.
func Hardware(claim *bmov1alpha1.HostClaim, vm *virtv1.VirtualMachine) *bmov1alpha1.HardwareData {
	details := &bmov1alpha1.HardwareDetails{Hostname: vm.Name}
	known := map[string]string{
		infrav1.HostNameAnnotation: vm.Name, infrav1.HostNamespaceAnnotation: vm.Namespace, infrav1.HostUIDAnnotation: string(vm.UID),
		infrav1.BootMACAddressAnnotation: mac(claim.UID, 0),
	}
	if claim.Spec.FailureDomain != "" && !soft(claim) {
		known[infrav1.HostFailureDomainAnnotation] = claim.Spec.FailureDomain
	}
	for _, i := range vm.Spec.Template.Spec.Domain.Devices.Interfaces {
		details.NIC = append(details.NIC, bmov1alpha1.NIC{Name: i.Name, MAC: i.MacAddress})
	}
	return &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: vm.Namespace, Name: vm.Name, Annotations: known,
			Labels:          map[string]string{ClaimLabel: string(claim.UID), infrav1.ClaimUIDLabel: string(claim.UID)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(claim, bmov1alpha1.GroupVersion.WithKind("HostClaim"))},
		},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: details},
	}
}

// maxCards is how many cards are compared, which is more than a virtual machine has.
const maxCards = 32

// Strip leaves of HardwareData what Hardware has.
func Strip(data *bmov1alpha1.HardwareData) {
	var of bmov1alpha1.HardwareDetails
	if details := data.Spec.HardwareDetails; details != nil {
		of.Hostname = details.Hostname[:min(len(details.Hostname), maxNameLength)]
		for _, nic := range details.NIC[:min(len(details.NIC), maxCards)] {
			of.NIC = append(of.NIC, bmov1alpha1.NIC{Name: nic.Name[:min(len(nic.Name), maxNameLength)], MAC: nic.MAC[:min(len(nic.MAC), maxNameLength)]})
		}
	}
	data.Spec = bmov1alpha1.HardwareDataSpec{HardwareDetails: &of}
}

// Image is the URL of the image on the disk of a virtual machine; empty if it has no disk.
func Image(vm *virtv1.VirtualMachine) string { return vm.Annotations[imageAnnotation] }

// Disk is the name of the DataVolume and of the boot Secret of a virtual machine; empty if it has no disk.
func Disk(vm *virtv1.VirtualMachine) string { return vm.Annotations[diskAnnotation] }

// Unclean reports whether a virtual machine may have more than its disk.
func Unclean(vm *virtv1.VirtualMachine) bool {
	return metav1.HasAnnotation(vm.ObjectMeta, cleanupAnnotation)
}

// Cleaned says that it has no more.
func Cleaned(vm *virtv1.VirtualMachine) { delete(vm.Annotations, cleanupAnnotation) }

// NextDisk is the name of the disk that a virtual machine would get now. It is another one once the virtual machine has
// been changed.
func NextDisk(vm *virtv1.VirtualMachine) string {
	return vm.Name + "-" + strconv.FormatInt(vm.Generation, 10)
}

// Deploy gives a virtual machine that is off a disk with the image of the claim, and the Secret of the same name to boot
// with.
func Deploy(vm *virtv1.VirtualMachine, claim *bmov1alpha1.HostClaim, p Parameters) error {
	source, err := sourceOf(claim.Spec.Image.URL, p.RootDisk)
	if err != nil {
		return err
	}
	disk := NextDisk(vm)
	Clear(vm)
	for key, value := range map[string]string{
		diskAnnotation: disk, imageAnnotation: claim.Spec.Image.URL, infrav1.RebuildAnnotation: claim.Annotations[infrav1.RebuildAnnotation],
	} {
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, key, value)
	}
	root := virtv1.Volume{Name: rootVolume}
	if source.container != "" {
		root.ContainerDisk = &virtv1.ContainerDiskSource{Image: source.container}
	} else {
		root.DataVolume = &virtv1.DataVolumeSource{Name: disk}
		vm.Spec.DataVolumeTemplates = []virtv1.DataVolumeTemplateSpec{dataVolume(vm, disk, source, p.RootDisk)}
	}
	boot := virtv1.Volume{Name: bootVolume, VolumeSource: virtv1.VolumeSource{
		Secret: &virtv1.SecretVolumeSource{SecretName: disk, VolumeLabel: "cidata"}, // see the data source NoCloud of cloud-init
	}}
	spec := &vm.Spec.Template.Spec
	spec.Volumes = []virtv1.Volume{root, boot}
	for i, volume := range spec.Volumes {
		disk := virtv1.Disk{Name: volume.Name, DiskDevice: virtv1.DiskDevice{Disk: &virtv1.DiskTarget{}}}
		if i == 0 {
			disk.BootOrder = ptr.To[uint](1)
		}
		spec.Domain.Devices.Disks = append(spec.Domain.Devices.Disks, disk)
	}
	return nil
}

func dataVolume(vm *virtv1.VirtualMachine, name string, from source, disk *RootDisk) virtv1.DataVolumeTemplateSpec {
	return virtv1.DataVolumeTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{ClaimLabel: vm.Labels[ClaimLabel]}},
		Spec: cdiv1.DataVolumeSpec{Source: from.imported, Storage: &cdiv1.StorageSpec{
			StorageClassName: disk.StorageClassName,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: disk.Size}},
		}},
	}
}

// Clear takes the disk of a virtual machine that is off. What it was made of is deleted later.
func Clear(vm *virtv1.VirtualMachine) {
	metav1.SetMetaDataAnnotation(&vm.ObjectMeta, cleanupAnnotation, "")
	for _, key := range [...]string{diskAnnotation, imageAnnotation} {
		delete(vm.Annotations, key)
	}
	vm.Spec.DataVolumeTemplates = nil
	vm.Spec.Template.Spec.Volumes, vm.Spec.Template.Spec.Domain.Devices.Disks = nil, nil
}

// source is where an image comes from.
type source struct {
	container string
	imported  *cdiv1.DataVolumeSource
}

// sourceOf understands the URL of an image.
func sourceOf(url string, disk *RootDisk) (source, error) {
	scheme, rest, _ := strings.Cut(url, "://")
	registry := scheme == "docker" || scheme == "oci"
	switch {
	case disk == nil && registry:
		return source{container: rest}, nil
	case disk == nil:
		return source{}, fmt.Errorf("image.url is %q, and the class has no rootDisk: name an image in a registry, as oci://registry/image:tag, "+
			"or another class", url)
	case registry:
		return source{imported: &cdiv1.DataVolumeSource{Registry: &cdiv1.DataVolumeSourceRegistry{URL: ptr.To("docker://" + rest)}}}, nil
	case scheme == "http" || scheme == "https":
		return source{imported: &cdiv1.DataVolumeSource{HTTP: &cdiv1.DataVolumeSourceHTTP{URL: url}}}, nil
	default:
		return source{}, fmt.Errorf("image.url is %q: a virtual machine has its image from http://, https:// or oci://", url)
	}
}

// Check returns what a claim asks for that no virtual machine can be.
func Check(claim *bmov1alpha1.HostClaim) error {
	selector := claim.Spec.HostSelector
	switch {
	case len(selector.MatchLabels) > 0 || len(selector.MatchExpressions) > 0:
		return errors.New("hostSelector chooses among servers, and the class gives virtual machines: remove it")
	case claim.Spec.CustomDeploy != nil:
		return errors.New("customDeploy is for servers, and the class gives virtual machines: use image")
	default:
		return nil
	}
}

// CheckImage returns why the image of a claim cannot be that of a virtual machine of the class.
func CheckImage(claim *bmov1alpha1.HostClaim, p Parameters) error {
	image := claim.Spec.Image
	if image == nil {
		return nil
	}
	if image.OCIAuthSecretName != nil {
		return errors.New("image.ociAuthSecretName is for servers: let the cluster of the virtual machines pull the image without it")
	}
	_, err := sourceOf(image.URL, p.RootDisk)
	return err
}
