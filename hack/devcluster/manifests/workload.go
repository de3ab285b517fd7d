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

package manifests

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
)

// podsOnly are the kinds that mean something only where pods run and
// cert-manager signs.
var podsOnly = [...]string{"Deployment", "Service", "Certificate", "Issuer", "ServiceMonitor"}

// Workload is what a Deployment has about the process that it would run.
type Workload struct {
	Namespace      string
	ServiceAccount string
	Args           []string
	// Env are the variables that have a value, as NAME=value; those that come from the Pod or from other objects
	// are left out.
	Env []string
}

// Split reads the one Deployment among the objects and returns the rest, without
// what is of no use here. A Namespace for the workload is added where the
// manifests expect another installer to make it.
func Split(objects []*unstructured.Unstructured) (Workload, []*unstructured.Unstructured, error) {
	var workload Workload
	var kept []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			if workload.ServiceAccount != "" {
				return Workload{}, nil, fmt.Errorf("there is a second Deployment, %s", object.GetName())
			}
			var err error
			if workload, err = readDeployment(object); err != nil {
				return Workload{}, nil, err
			}
		}
		if !slices.Contains(podsOnly[:], object.GetKind()) {
			kept = append(kept, object)
		}
	}
	if workload.ServiceAccount == "" {
		return Workload{}, nil, fmt.Errorf("there is no Deployment among %d objects", len(objects))
	}
	return workload, withNamespace(kept, workload.Namespace), nil
}

// LabelKinds puts the label on the CRDs of a provider that clusterctl puts there when it installs the
// provider. clusterctl moves no other kinds, and knows no other owners.
func LabelKinds(objects []*unstructured.Unstructured) {
	for _, object := range objects {
		labels := object.GetLabels()
		if _, found := labels[clusterv1.ProviderNameLabel]; found && object.GetKind() == "CustomResourceDefinition" {
			labels[clusterctlv1.ClusterctlLabel] = ""
			object.SetLabels(labels)
		}
	}
}

// Extensions takes the runtime extensions out of the objects. Webhooks of Cluster API look at them.
func Extensions(objects []*unstructured.Unstructured) (extensions, rest []*unstructured.Unstructured) {
	for _, object := range objects {
		if object.GetKind() == "ExtensionConfig" {
			extensions = append(extensions, object)
		} else {
			rest = append(rest, object)
		}
	}
	return extensions, rest
}

func readDeployment(object *unstructured.Unstructured) (Workload, error) {
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment); err != nil {
		return Workload{}, fmt.Errorf("read Deployment %s: %w", object.GetName(), err)
	}
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 || pod.ServiceAccountName == "" {
		return Workload{}, fmt.Errorf("the Deployment %s must have one container and a service account", object.GetName())
	}
	workload := Workload{
		Namespace:      deployment.Namespace,
		ServiceAccount: pod.ServiceAccountName,
		Args:           pod.Containers[0].Args,
	}
	for _, v := range pod.Containers[0].Env {
		if v.ValueFrom == nil {
			workload.Env = append(workload.Env, v.Name+"="+v.Value)
		}
	}
	return workload, nil
}

func withNamespace(objects []*unstructured.Unstructured, name string) []*unstructured.Unstructured {
	for _, object := range objects {
		if object.GetKind() == "Namespace" && object.GetName() == name {
			return objects
		}
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(name)
	return append([]*unstructured.Unstructured{namespace}, objects...)
}
