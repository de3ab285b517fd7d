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

package capie2e

import (
	"bytes"
	"os"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// quick is the label of the specs that make test-e2e plays. It is Cluster API's for what blocks a pull request.
const quick = "PR-Blocking"

// imageOfVersion has clusters of the class boot the image of their version, so that a spec that writes a
// version upgrades the cluster.
func imageOfVersion() {
	t := ginkgo.GinkgoT()
	t.Setenv("IMAGE_URL", "http://images.example.com/node-{version}.qcow2")
	t.Setenv("IMAGE_CHECKSUM", "http://images.example.com/node-{version}.qcow2.sha256sum")
}

// quickStart plays the QuickStartSpec; edit adds to its input.
func quickStart(edit func(*e2e.QuickStartSpecInput)) {
	e2e.QuickStartSpec(ctx, func() e2e.QuickStartSpecInput {
		input := e2e.QuickStartSpecInput{
			E2EConfig:              e2eConfig,
			ClusterctlConfigPath:   clusterctlConfigPath,
			BootstrapClusterProxy:  bootstrapClusterProxy,
			ArtifactFolder:         *artifactFolder,
			SkipCleanup:            *skipCleanup,
			InfrastructureProvider: ptr.To(infrastructureProvider),
			PostNamespaceCreated:   bindManagers,
		}
		if edit != nil {
			edit(&input)
		}
		return input
	})
}

// remediateWorker plays the MachineDeploymentRemediationSpec; edit adds to its input.
func remediateWorker(edit func(*e2e.MachineDeploymentRemediationSpecInput)) {
	e2e.MachineDeploymentRemediationSpec(ctx, func() e2e.MachineDeploymentRemediationSpecInput {
		input := e2e.MachineDeploymentRemediationSpecInput{
			E2EConfig:              e2eConfig,
			ClusterctlConfigPath:   clusterctlConfigPath,
			BootstrapClusterProxy:  bootstrapClusterProxy,
			ArtifactFolder:         *artifactFolder,
			SkipCleanup:            *skipCleanup,
			InfrastructureProvider: ptr.To(infrastructureProvider),
			PostNamespaceCreated:   bindManagers,
		}
		if edit != nil {
			edit(&input)
		}
		return input
	})
}

var _ = ginkgo.Describe("When following the quick start", ginkgo.Label(quick), func() {
	quickStart(nil)
})

var _ = ginkgo.Describe("When following the quick start with a ClusterClass", func() {
	ginkgo.BeforeEach(imageOfVersion)
	quickStart(func(input *e2e.QuickStartSpecInput) {
		input.Flavor = ptr.To("topology")
		input.ControlPlaneMachineCount = ptr.To[int64](3)
		input.WorkerMachineCount = ptr.To[int64](2)
		input.PostMachinesProvisioned = resourceVersionsAreStable
	})
})

var _ = ginkgo.Describe("When finalizers and owner references are lost", func() {
	quickStart(func(input *e2e.QuickStartSpecInput) {
		input.PostMachinesProvisioned = survivesLosses
	})
})

var _ = ginkgo.Describe("When finalizers and owner references of a cluster of a ClusterClass are lost", func() {
	ginkgo.BeforeEach(imageOfVersion)
	quickStart(func(input *e2e.QuickStartSpecInput) {
		input.Flavor = ptr.To("topology")
		input.PostMachinesProvisioned = survivesLosses
	})
})

var _ = ginkgo.Describe("When scaling a MachineDeployment", func() {
	e2e.MachineDeploymentScaleSpec(ctx, func() e2e.MachineDeploymentScaleSpecInput {
		return e2e.MachineDeploymentScaleSpecInput{
			E2EConfig:              e2eConfig,
			ClusterctlConfigPath:   clusterctlConfigPath,
			BootstrapClusterProxy:  bootstrapClusterProxy,
			ArtifactFolder:         *artifactFolder,
			SkipCleanup:            *skipCleanup,
			InfrastructureProvider: ptr.To(infrastructureProvider),
			PostNamespaceCreated:   bindManagers,
		}
	})
})

var _ = ginkgo.Describe("When rolling out a control plane and workers", func() {
	e2e.KCPAndMachineDeploymentRolloutSpec(ctx, func() e2e.KCPAndMachineDeploymentRolloutSpecInput {
		return e2e.KCPAndMachineDeploymentRolloutSpecInput{
			E2EConfig:              e2eConfig,
			ClusterctlConfigPath:   clusterctlConfigPath,
			BootstrapClusterProxy:  bootstrapClusterProxy,
			ArtifactFolder:         *artifactFolder,
			SkipCleanup:            *skipCleanup,
			InfrastructureProvider: ptr.To(infrastructureProvider),
			PostNamespaceCreated:   bindManagers,
			Flavor:                 "kcp-md-taints",
		}
	})
})

var _ = ginkgo.Describe("When remediating a worker", func() {
	remediateWorker(nil)
})

var _ = ginkgo.Describe("When remediating a worker by a reboot", func() {
	remediateWorker(func(input *e2e.MachineDeploymentRemediationSpecInput) {
		input.Flavor = ptr.To("metal3-remediation")
	})
})

var _ = ginkgo.Describe("When remediating a control plane", func() {
	e2e.KCPRemediationSpec(ctx, func() e2e.KCPRemediationSpecInput {
		return e2e.KCPRemediationSpecInput{
			E2EConfig:              e2eConfig,
			ClusterctlConfigPath:   clusterctlConfigPath,
			BootstrapClusterProxy:  bootstrapClusterProxy,
			ArtifactFolder:         *artifactFolder,
			SkipCleanup:            *skipCleanup,
			InfrastructureProvider: ptr.To(infrastructureProvider),
			PostNamespaceCreated:   holdServers,
		}
	})
})

var _ = ginkgo.Describe("When changing a ClusterClass", func() {
	ginkgo.BeforeEach(imageOfVersion)
	e2e.ClusterClassChangesSpec(ctx, func() e2e.ClusterClassChangesSpecInput {
		return e2e.ClusterClassChangesSpecInput{
			E2EConfig:                e2eConfig,
			ClusterctlConfigPath:     clusterctlConfigPath,
			BootstrapClusterProxy:    bootstrapClusterProxy,
			ArtifactFolder:           *artifactFolder,
			SkipCleanup:              *skipCleanup,
			InfrastructureProvider:   ptr.To(infrastructureProvider),
			PostNamespaceCreated:     bindManagers,
			Flavor:                   "topology",
			ModifyControlPlaneFields: map[string]any{"spec.kubeadmConfigSpec.verbosity": int64(4)},
			ModifyMachineDeploymentBootstrapConfigTemplateFields: map[string]any{"spec.template.spec.verbosity": int64(4)},
			ModifyMachineDeploymentInfrastructureMachineTemplateFields: map[string]any{
				"spec.template.spec.hostSelector.matchLabels": map[string]any{"model": "demo"},
			},
		}
	})
})

var _ = ginkgo.Describe("When rolling out changes of a ClusterClass", func() {
	ginkgo.BeforeEach(imageOfVersion)
	e2e.ClusterClassRolloutSpec(ctx, func() e2e.ClusterClassRolloutSpecInput {
		return e2e.ClusterClassRolloutSpecInput{
			E2EConfig:                      e2eConfig,
			ClusterctlConfigPath:           clusterctlConfigPath,
			BootstrapClusterProxy:          bootstrapClusterProxy,
			ArtifactFolder:                 *artifactFolder,
			SkipCleanup:                    *skipCleanup,
			InfrastructureProvider:         ptr.To(infrastructureProvider),
			PostNamespaceCreated:           bindManagers,
			Flavor:                         "topology-taints",
			FilterMetadataBeforeValidation: withoutAnnotationsOfOurs,
		}
	})
})

var _ = ginkgo.Describe("When deleting a cluster", func() {
	ginkgo.BeforeEach(imageOfVersion)
	e2e.ClusterDeletionSpec(ctx, func() e2e.ClusterDeletionSpecInput {
		return e2e.ClusterDeletionSpecInput{
			E2EConfig:                e2eConfig,
			ClusterctlConfigPath:     clusterctlConfigPath,
			BootstrapClusterProxy:    bootstrapClusterProxy,
			ArtifactFolder:           *artifactFolder,
			SkipCleanup:              *skipCleanup,
			InfrastructureProvider:   ptr.To(infrastructureProvider),
			PostNamespaceCreated:     bindManagers,
			Flavor:                   ptr.To("topology"),
			ControlPlaneMachineCount: ptr.To[int64](3),
			ClusterDeletionPhases:    deletionPhases(),
		}
	})
})

var _ = ginkgo.Describe("When draining Nodes", func() {
	ginkgo.BeforeEach(imageOfVersion)
	e2e.NodeDrainTimeoutSpec(ctx, func() e2e.NodeDrainTimeoutSpecInput {
		return e2e.NodeDrainTimeoutSpecInput{
			E2EConfig:              e2eConfig,
			ClusterctlConfigPath:   clusterctlConfigPath,
			BootstrapClusterProxy:  bootstrapClusterProxy,
			ArtifactFolder:         *artifactFolder,
			SkipCleanup:            *skipCleanup,
			InfrastructureProvider: ptr.To(infrastructureProvider),
			PostNamespaceCreated:   bindManagers,
		}
	})
})

var _ = ginkgo.Describe("When upgrading a cluster of a ClusterClass", func() {
	ginkgo.BeforeEach(imageOfVersion)
	e2e.ClusterUpgradeConformanceSpec(ctx, func() e2e.ClusterUpgradeConformanceSpecInput {
		return e2e.ClusterUpgradeConformanceSpecInput{
			E2EConfig:                e2eConfig,
			ClusterctlConfigPath:     clusterctlConfigPath,
			BootstrapClusterProxy:    bootstrapClusterProxy,
			ArtifactFolder:           *artifactFolder,
			SkipCleanup:              *skipCleanup,
			InfrastructureProvider:   ptr.To(infrastructureProvider),
			PostNamespaceCreated:     bindManagers,
			Flavor:                   ptr.To("topology"),
			ControlPlaneMachineCount: ptr.To[int64](1),
			WorkerMachineCount:       ptr.To[int64](2),
			SkipConformanceTests:     true,
		}
	})
})

var _ = ginkgo.Describe("When making, upgrading and deleting many clusters", func() {
	ginkgo.BeforeEach(imageOfVersion)
	e2e.ScaleSpec(ctx, func() e2e.ScaleSpecInput {
		return e2e.ScaleSpecInput{
			E2EConfig:                        e2eConfig,
			ClusterctlConfigPath:             clusterctlConfigPath,
			BootstrapClusterProxy:            bootstrapClusterProxy,
			ArtifactFolder:                   *artifactFolder,
			SkipCleanup:                      *skipCleanup,
			InfrastructureProvider:           ptr.To(infrastructureProvider),
			PostNamespaceCreated:             bindManagers,
			PostScaleClusterNamespaceCreated: withDataOfItsOwn,
			Flavor:                           ptr.To("topology"),
			ClusterClassName:                 "metal3",
			ClusterCount:                     ptr.To[int64](4),
			Concurrency:                      ptr.To[int64](4),
			WorkerPerMachineDeploymentCount:  ptr.To[int64](2),
		}
	})
})

// withDataOfItsOwn gives a cluster of the ScaleSpec a port, and the addresses and data templates that the spec
// takes for parts of the class.
func withDataOfItsOwn(_ framework.ClusterProxy, _, _ string, class, cluster []byte) (classOut, clusterOut []byte) {
	port := freePort()
	objects, err := yaml.ToUnstructured(class)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	data, err := yaml.FromUnstructured(slices.DeleteFunc(objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() != "IPPool" && o.GetKind() != "Metal3DataTemplate"
	}))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	cluster = bytes.ReplaceAll(cluster, []byte("port: "+os.Getenv("CLUSTER_APIENDPOINT_PORT")), []byte("port: "+port))
	return class, slices.Concat(cluster, []byte("\n---\n"), data)
}

// withoutAnnotationsOfOurs leaves the metadata that Cluster API has put on an object.
func withoutAnnotationsOfOurs(object client.Object) clusterv1.ObjectMeta {
	annotations := object.GetAnnotations()
	delete(annotations, "clusterctl.cluster.x-k8s.io/block-move")
	delete(annotations, "metal3.io/BareMetalHost")
	return clusterv1.ObjectMeta{Labels: object.GetLabels(), Annotations: annotations}
}

// deletionPhases are workers, control plane and Metal3Cluster, in this order.
func deletionPhases() []e2e.ClusterDeletionPhase {
	machinesOf := func(owners ...string) func(corev1.ObjectReference, []metav1.OwnerReference) bool {
		return func(object corev1.ObjectReference, references []metav1.OwnerReference) bool {
			return slices.Contains(owners, object.Kind) || object.Kind == "Machine" && slices.ContainsFunc(references, func(r metav1.OwnerReference) bool {
				return slices.Contains(owners, r.Kind)
			})
		}
	}
	kind := func(kind string) func(corev1.ObjectReference, []metav1.OwnerReference) bool {
		return func(object corev1.ObjectReference, _ []metav1.OwnerReference) bool { return object.Kind == kind }
	}
	return []e2e.ClusterDeletionPhase{
		{ObjectFilter: machinesOf("MachineDeployment", "MachineSet"), BlockingObjectFilter: kind("Machine")},
		{ObjectFilter: machinesOf("KubeadmControlPlane"), BlockingObjectFilter: kind("Machine")},
		{ObjectFilter: kind("Metal3Cluster"), BlockingObjectFilter: kind("Metal3Cluster")},
	}
}
