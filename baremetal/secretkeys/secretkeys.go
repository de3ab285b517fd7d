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

// Package secretkeys has the keys of the Secrets that servers and their image downloads read, and what a
// copy of such a Secret holds.
package secretkeys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The keys that baremetal-operator reads, by what the Secret is for.
const (
	UserData    = "userData"
	MetaData    = "metaData"
	NetworkData = "networkData"
)

// Bootstrap is the key of the Secrets of bootstrap providers of Cluster API. It is
// read where a Secret lacks the key of its purpose.
const Bootstrap = "value"

// pullSecretKeys are the keys of the two types of pull secrets.
var pullSecretKeys = map[corev1.SecretType]string{
	corev1.SecretTypeDockerConfigJson: corev1.DockerConfigJsonKey,
	corev1.SecretTypeDockercfg:        corev1.DockerConfigKey,
}

// Value returns what the data of a Secret holds for the purpose of a key: the
// content of the key, else that of Bootstrap. Network data is optional: without
// either key it is empty. For user data and metadata found is then false.
func Value(key string, data map[string][]byte) (value []byte, found bool) {
	for _, candidate := range [...]string{key, Bootstrap} {
		if value, found := data[candidate]; found {
			return value, true
		}
	}
	if key == NetworkData {
		return []byte{}, true
	}
	return nil, false
}

// Content is the part of a Secret that its purpose needs.
type Content struct {
	// Type of the Secret.
	Type corev1.SecretType
	// Key is the only key, with its Value.
	Key   string
	Value []byte
	// Digested is set where Value is the Digest of the value.
	Digested bool
}

// Extract returns the part of a Secret that is needed for the purpose of a key, or the credentials for a
// registry of images if the key is empty. The error completes a sentence about the Secret.
func Extract(key string, secret *corev1.Secret) (Content, error) {
	if key != "" {
		value, found := Value(key, secret.Data)
		if !found {
			return Content{}, fmt.Errorf("it has neither key %q nor key %q", key, Bootstrap)
		}
		return Content{Type: corev1.SecretTypeOpaque, Key: key, Value: value}, nil
	}
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

// Digest stands for a value that is not to be kept; that of an empty one is empty.
func Digest(value []byte) []byte {
	if len(value) == 0 {
		return nil
	}
	sum := sha256.Sum256(value)
	return sum[:]
}

// Hash differs for two contents. The UID of the object that needs the content goes into it, so that the
// same content has another hash for another object.
func (c Content) Hash(owner types.UID) string {
	if !c.Digested {
		c.Value = Digest(c.Value)
	}
	sum := sha256.Sum256([]byte(string(owner) + "\x00" + c.Key + "\x00" + string(c.Value)))
	return hex.EncodeToString(sum[:])
}
