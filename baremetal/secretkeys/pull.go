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

package secretkeys

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Content is the part of a Secret that its purpose needs.
type Content struct {
	// Type of the Secret.
	Type corev1.SecretType
	// Key is the only key, with its Value.
	Key   string
	Value []byte
}

// pullSecretKeys are the keys of the two types of pull secrets.
var pullSecretKeys = map[corev1.SecretType]string{
	corev1.SecretTypeDockerConfigJson: corev1.DockerConfigJsonKey,
	corev1.SecretTypeDockercfg:        corev1.DockerConfigKey,
}

// PullSecret returns the credentials for a registry of images. The error completes a sentence
// about the Secret.
func PullSecret(secret *corev1.Secret) (Content, error) {
	key, known := pullSecretKeys[secret.Type]
	if !known {
		return Content{}, fmt.Errorf("its type %q is neither %q nor %q",
			secret.Type, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg)
	}
	value, found := secret.Data[key]
	if !found {
		return Content{}, fmt.Errorf("it has no key %q", key)
	}
	return Content{Type: secret.Type, Key: key, Value: value}, nil
}
