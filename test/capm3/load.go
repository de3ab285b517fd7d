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

package capm3

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the cluster was doing.
const (
	// Running is a cluster of one control plane and three workers.
	Running = "running"
	// ScalingDown is the same while a worker is being deleted: its server is still provisioned.
	ScalingDown = "scaling-down"
	// Rolling is a cluster that replaces a worker by one on the same server, uncleaned.
	Rolling = "rolling"
)

const (
	// Namespace is where the objects were. The user data of the servers speak of it.
	Namespace = "metal3"
	// Cluster is the name of the Cluster and of its Metal3Cluster, its KubeadmControlPlane and its MachineDeployment.
	Cluster = "c1"
	// Port is that of its control plane endpoint, on the loopback address.
	Port = 27443
	// Workers is how many it has while it runs.
	Workers = 3
	// Servers is how many there are.
	Servers = 6
)

//go:embed *.json
var states embed.FS

// Load makes the objects of a state in a namespace, but for kinds that the API server does not have. They have new UIDs and
// the status that they had. The Cluster is paused. The servers are so, and have no status, until all else is there.
func Load(ctx context.Context, c client.Client, state, namespace string, without ...string) error {
	text, err := states.ReadFile(state + ".json")
	if err != nil {
		return err
	}
	moved := strings.NewReplacer(
		fmt.Sprintf(`"namespace":%q`, Namespace), fmt.Sprintf(`"namespace":%q`, namespace),
		Namespace+"/server-", namespace+"/server-",
	).Replace(string(text))
	l := loader{c, map[types.UID]types.UID{}, map[types.UID]any{}}
	var paused, deleted []*unstructured.Unstructured
	for line := range bytes.Lines([]byte(moved)) {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(line, &object.Object); err != nil {
			return err
		}
		if slices.Contains(without, object.GetKind()) {
			continue
		}
		if object.GetDeletionTimestamp() != nil {
			deleted = append(deleted, object)
		}
		if object.GetKind() == "BareMetalHost" {
			paused = append(paused, object)
		}
		if err := l.create(ctx, object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	for _, object := range deleted {
		if err := c.Delete(ctx, object); err != nil {
			return err
		}
	}
	for _, host := range paused {
		if err := l.start(ctx, host); err != nil {
			return fmt.Errorf("BareMetalHost %s: %w", host.GetName(), err)
		}
	}
	return nil
}

// loader makes objects, each after its owners.
type loader struct {
	client.Client

	// uids are those of the objects that were made, by those that they had.
	uids map[types.UID]types.UID
	// hosts are what they report.
	hosts map[types.UID]any
}

func (l loader) create(ctx context.Context, object *unstructured.Unstructured) error {
	status, hasStatus := object.Object["status"]
	former := object.GetUID()
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	switch object.GetKind() {
	case "Cluster":
		if err := unstructured.SetNestedField(object.Object, true, "spec", "paused"); err != nil {
			return err
		}
	case "BareMetalHost":
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[bmov1alpha1.PausedAnnotation] = ""
		object.SetAnnotations(annotations)
	}
	owners := object.GetOwnerReferences()
	for i := range owners {
		if now, found := l.uids[owners[i].UID]; found {
			owners[i].UID = now
		}
	}
	object.SetOwnerReferences(owners)
	if err := l.Create(ctx, object); err != nil {
		return err
	}
	l.uids[former] = object.GetUID()
	switch {
	case !hasStatus:
		return nil
	case object.GetKind() == "BareMetalHost":
		l.hosts[object.GetUID()] = status
		return nil
	}
	return l.report(ctx, object, status)
}

// report writes the status of an object.
func (l loader) report(ctx context.Context, object *unstructured.Unstructured, status any) error {
	bare := object.DeepCopy()
	object.Object["status"] = status
	return l.Status().Patch(ctx, object, client.MergeFrom(bare))
}

// start gives a server its status, and ends its pause.
func (l loader) start(ctx context.Context, host *unstructured.Unstructured) error {
	if err := l.report(ctx, host, l.hosts[host.GetUID()]); err != nil {
		return err
	}
	before := host.DeepCopy()
	annotations := host.GetAnnotations()
	delete(annotations, bmov1alpha1.PausedAnnotation)
	host.SetAnnotations(annotations)
	return l.Patch(ctx, host, client.MergeFrom(before))
}
