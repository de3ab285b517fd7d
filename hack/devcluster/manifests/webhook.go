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
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Endpoint is where the webhooks of a process listen.
type Endpoint struct {
	// URL is scheme, host and port, without a path.
	URL string
	// Extension is the same for the runtime extension, for which the process has another port.
	Extension string
	// CA signed the serving certificate, PEM.
	CA []byte
}

// UseURLs turns every reference to a webhook Service, of admission webhooks, of
// CRD conversion and of runtime extensions, into the URL of a process. The objects are changed in place.
func UseURLs(objects []*unstructured.Unstructured, endpoint Endpoint) error {
	for _, object := range objects {
		var err error
		switch object.GetKind() {
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
			err = admissionURLs(object, endpoint)
		case "CustomResourceDefinition":
			err = conversionURL(object, endpoint)
		case "ExtensionConfig":
			err = extensionURL(object, endpoint)
		}
		if err != nil {
			return fmt.Errorf("webhooks of %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func admissionURLs(object *unstructured.Unstructured, endpoint Endpoint) error {
	webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, entry := range webhooks {
		webhook, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("a webhook is not an object but %T", entry)
		}
		if err := useURL(webhook, endpoint); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
}

func conversionURL(object *unstructured.Unstructured, endpoint Endpoint) error {
	webhook, found, err := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook")
	if err != nil || !found {
		return err
	}
	if err := useURL(webhook, endpoint); err != nil {
		return err
	}
	return unstructured.SetNestedMap(object.Object, webhook, "spec", "conversion", "webhook")
}

// extensionURL also takes off the name of the Secret with the CA, which cert-manager would make.
func extensionURL(object *unstructured.Unstructured, endpoint Endpoint) error {
	annotations := object.GetAnnotations()
	delete(annotations, "runtime.cluster.x-k8s.io/inject-ca-from-secret")
	object.SetAnnotations(annotations)
	return unstructured.SetNestedMap(object.Object, map[string]any{
		"url":      endpoint.Extension,
		"caBundle": base64.StdEncoding.EncodeToString(endpoint.CA),
	}, "spec", "clientConfig")
}

// useURL replaces clientConfig.service by clientConfig.url; a client
// configuration that names a URL already stays.
func useURL(webhook map[string]any, endpoint Endpoint) error {
	path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
	if err != nil || !found {
		return err
	}
	webhook["clientConfig"] = map[string]any{
		"url":      endpoint.URL + path,
		"caBundle": base64.StdEncoding.EncodeToString(endpoint.CA),
	}
	return nil
}
