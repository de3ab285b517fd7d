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

package data

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Names of the field indexes on Metal3Datas. The one by template belongs to the
// controller of templates.
const (
	byClaim   = "spec.claim.name"
	byMachine = "hostclaim.metal3machine" // name of the Metal3Machine among the owners
	bySecret  = "hostclaim.secret"        // names of the rendered secrets
	byReason  = "hostclaim.reason"        // reason why it is not ready; empty before it says anything
)

// dataKind is the kind that owns what this package makes.
const dataKind = "Metal3Data"

// machineKind is the kind of the owner that stands for the machine.
const machineKind = "Metal3Machine"

// SetupIndexes adds the field indexes that the watches need, besides those of
// package datatemplate.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		name string
		keys func(*infrav1.Metal3Data) []string
	}{
		{byClaim, claimOf}, {byMachine, machineOf}, {bySecret, secretsOf}, {byReason, reasonOf},
	} {
		keys := func(o client.Object) []string {
			data, ok := o.(*infrav1.Metal3Data)
			if !ok {
				return nil
			}
			return index.keys(data)
		}
		if err := indexer.IndexField(ctx, &infrav1.Metal3Data{}, index.name, keys); err != nil {
			return fmt.Errorf("index Metal3Datas by %s: %w", index.name, err)
		}
	}
	return nil
}

func claimOf(data *infrav1.Metal3Data) []string {
	if data.Spec.Claim == nil || data.Spec.Claim.Name == "" {
		return nil
	}
	return []string{data.Spec.Claim.Name}
}

func machineOf(data *infrav1.Metal3Data) []string {
	at := slices.IndexFunc(data.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == machineKind })
	if at < 0 {
		return nil
	}
	return []string{data.OwnerReferences[at].Name}
}

func secretsOf(data *infrav1.Metal3Data) []string {
	var names []string
	if data.Spec.MetaData != nil {
		names = append(names, data.Spec.MetaData.Name)
	}
	if data.Spec.NetworkData != nil {
		names = append(names, data.Spec.NetworkData.Name)
	}
	return names
}

func reasonOf(data *infrav1.Metal3Data) []string {
	ready := conditions.Get(data, infrav1.ReadyCondition)
	switch {
	case ready == nil:
		return []string{""}
	case ready.Status == metav1.ConditionTrue:
		return nil
	default:
		return []string{ready.Reason}
	}
}
