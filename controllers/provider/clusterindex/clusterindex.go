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

// Package clusterindex lists the machines, and the data of theirs, that belong to a
// Cluster. It indexes Machines by what their spec says and our
// own kinds by their label, under one name, so that no controller has to scan a namespace.
package clusterindex

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Field is the name of the index, on Machines as on Metal3Machines, Metal3DataClaims
// and Metal3Datas. Its value is the name of the Cluster; list within its namespace.
const Field = "hostclaim.clusterName"

// Setup adds the indexes.
func Setup(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &clusterv1.Machine{}, Field, ofMachine); err != nil {
		return fmt.Errorf("index Machines by Cluster: %w", err)
	}
	for _, kind := range []client.Object{&infrav1.Metal3Machine{}, &infrav1.Metal3DataClaim{}, &infrav1.Metal3Data{}} {
		if err := indexer.IndexField(ctx, kind, Field, byLabel); err != nil {
			return fmt.Errorf("index %T by Cluster: %w", kind, err)
		}
	}
	return nil
}

func ofMachine(o client.Object) []string {
	if machine, ok := o.(*clusterv1.Machine); ok && machine.Spec.ClusterName != "" {
		return []string{machine.Spec.ClusterName}
	}
	return nil
}

func byLabel(o client.Object) []string {
	if name := o.GetLabels()[clusterv1.ClusterNameLabel]; name != "" {
		return []string{name}
	}
	return nil
}
