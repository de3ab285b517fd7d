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

package setup

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// allPhases stands for every phase in --skip-crd-migration-phases, as in Cluster API.
const allPhases = "All"

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions;customresourcedefinitions/status,resourceNames=metal3clusters.infrastructure.cluster.x-k8s.io;metal3clustertemplates.infrastructure.cluster.x-k8s.io;metal3dataclaims.infrastructure.cluster.x-k8s.io;metal3datas.infrastructure.cluster.x-k8s.io;metal3datatemplates.infrastructure.cluster.x-k8s.io;metal3machines.infrastructure.cluster.x-k8s.io;metal3machinetemplates.infrastructure.cluster.x-k8s.io;metal3remediations.infrastructure.cluster.x-k8s.io;metal3remediationtemplates.infrastructure.cluster.x-k8s.io,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clustertemplates;metal3machinetemplates;metal3remediationtemplates,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediationtemplates/status,verbs=patch

// addMigrator adds the controller of Cluster API that has all objects stored in the storage version of their CRD,
// so that a later release can drop the version before. A manager that sees one namespace only does not migrate: it
// would declare the objects of all others migrated.
func addMigrator(ctx context.Context, mgr ctrl.Manager, o Options) error {
	skip, err := o.skippedPhases()
	if err != nil {
		return err
	}
	if o.Namespace != "" {
		mgr.GetLogger().Info("Stored versions are not migrated by a manager of one namespace", "namespace", o.Namespace)
		return nil
	}
	// By way of the status no webhook is asked, which may refuse what an older release has let through.
	cached := crdmigrator.ByObjectConfig{UseCache: true, UseStatusForStorageVersionMigration: true}
	// Cluster API derives the name of a CRD from its kind, and takes data for a plural: metal3datas is named by it.
	plural := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Datas"}}
	migrator := &crdmigrator.CRDMigrator{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), SkipCRDMigrationPhases: skip,
		Config: map[client.Object]crdmigrator.ByObjectConfig{
			&infrav1.Metal3Cluster{}:             cached,
			&infrav1.Metal3ClusterTemplate{}:     {},
			plural:                               cached,
			&infrav1.Metal3DataClaim{}:           cached,
			&infrav1.Metal3DataTemplate{}:        cached,
			&infrav1.Metal3Machine{}:             cached,
			&infrav1.Metal3MachineTemplate{}:     cached,
			&infrav1.Metal3Remediation{}:         cached,
			&infrav1.Metal3RemediationTemplate{}: {UseStatusForStorageVersionMigration: true},
		},
	}
	if err := migrator.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 1}); err != nil {
		return fmt.Errorf("set up the migration of stored versions: %w", err)
	}
	return nil
}

// skippedPhases returns the phases that are not run, or an error that names one which does not exist.
func (o Options) skippedPhases() ([]crdmigrator.Phase, error) {
	all := []crdmigrator.Phase{crdmigrator.StorageVersionMigrationPhase, crdmigrator.CleanupManagedFieldsPhase}
	var skip []crdmigrator.Phase
	for _, name := range o.SkipCRDMigrationPhases {
		switch phase := crdmigrator.Phase(name); {
		case name == allPhases:
			return all, nil
		case slices.Contains(all, phase):
			skip = append(skip, phase)
		default:
			return nil, fmt.Errorf("--skip-crd-migration-phases: %q is none of %s, %s and %s", name, allPhases, all[0], all[1])
		}
	}
	return skip, nil
}
