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

package configdrive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/cloudinit"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/ignition"
)

// fallbackKey is read where a secret lacks the key of its purpose; bootstrap
// secrets of Cluster API have only this one.
const fallbackKey = "value"

// Source names one part of the drive: where it comes from and how it is read.
type Source struct {
	// Secret is empty when the host refers to none for this part.
	Secret string
	Key    string
	// Optional means that a secret without the key is an empty part.
	Optional bool
	// foreign is the other namespace that the reference names, if it does.
	foreign string
}

// Sources are the three parts of a drive.
type Sources struct {
	UserData    Source
	MetaData    Source
	NetworkData Source
}

// SourcesOf lists what baremetal-operator would read for the host. Without
// network data of its own a host is given that of its preprovisioning image.
func SourcesOf(host *bmov1alpha1.BareMetalHost) Sources {
	network := host.Spec.NetworkData
	if network == nil && host.Spec.PreprovisioningNetworkDataName != "" {
		network = &corev1.SecretReference{Name: host.Spec.PreprovisioningNetworkDataName}
	}
	sources := Sources{
		UserData:    sourceOf(host, host.Spec.UserData, "userData"),
		MetaData:    sourceOf(host, host.Spec.MetaData, "metaData"),
		NetworkData: sourceOf(host, network, "networkData"),
	}
	sources.NetworkData.Optional = true
	return sources
}

func sourceOf(host *bmov1alpha1.BareMetalHost, ref *corev1.SecretReference, key string) Source {
	source := Source{Key: key}
	if ref == nil {
		return source
	}
	source.Secret = ref.Name
	if ref.Namespace != "" && ref.Namespace != host.Namespace {
		source.foreign = ref.Namespace
	}
	return source
}

// Pick takes the part out of the data of its secret.
func (s Source) Pick(data map[string][]byte) ([]byte, error) {
	if content, ok := data[s.Key]; ok {
		return content, nil
	}
	if content, ok := data[fallbackKey]; ok {
		return content, nil
	}
	if s.Optional {
		return nil, nil
	}
	return nil, s.Error(fmt.Errorf("the secret has neither this key nor %q", fallbackKey))
}

// Check refuses a reference that baremetal-operator would not follow.
func (s Source) Check() error {
	if s.foreign == "" {
		return nil
	}
	return s.Error(fmt.Errorf("the reference names namespace %q, but the secret must be next to the host", s.foreign))
}

// Error returns the error for this part of the drive being unusable.
func (s Source) Error(err error) error {
	return &Error{Secret: s.Secret, Key: s.Key, Err: err}
}

// Error is a defect of the drive, with the secret and key that it comes from.
type Error struct {
	Secret string
	Key    string
	Err    error
}

// Error puts secret, key and reason into one line.
func (e *Error) Error() string {
	return fmt.Sprintf("secret %q, key %q: %v", e.Secret, e.Key, e.Err)
}

// Unwrap gives the reason alone.
func (e *Error) Unwrap() error { return e.Err }

// Contents are the three parts of a config drive as they stand in their secrets;
// a part that the host has no reference for is empty.
type Contents struct {
	UserData, MetaData, NetworkData string
}

// Hash differs for different contents; that of an empty drive is empty.
func (c Contents) Hash() string {
	if c == (Contents{}) {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.UserData, c.MetaData, c.NetworkData))
	return hex.EncodeToString(sum[:])
}

// MetaData is the meta_data.json of the host's drive: what baremetal-operator writes about every
// host, with the keys of the given document, JSON or YAML, put over it one by one.
func MetaData(host *bmov1alpha1.BareMetalHost, document []byte) (map[string]any, error) {
	merged := map[string]any{
		"uuid":             string(host.UID),
		"metal3-namespace": host.Namespace,
		"metal3-name":      host.Name,
		"local-hostname":   host.Name,
		"local_hostname":   host.Name,
		"name":             host.Name,
	}
	var own map[string]any
	if err := yaml.Unmarshal(document, &own); err != nil {
		return nil, fmt.Errorf("not a map in JSON or YAML: %w", err)
	}
	maps.Copy(merged, own)
	return merged, nil
}

// FirstBoot reads a config drive as cloud-init or Ignition does: what it would run, and the hostname.
func FirstBoot(host *bmov1alpha1.BareMetalHost, parts Contents) (cloudinit.Config, string, error) {
	metaData, err := MetaData(host, []byte(parts.MetaData))
	if err != nil {
		return cloudinit.Config{}, host.Name, err
	}
	hostname := cmp.Or(cloudinit.Hostname(metaData), host.Name)
	if parts.UserData == "" {
		return cloudinit.Config{}, hostname, nil
	}
	config, err := UserData([]byte(parts.UserData), metaData)
	return config, cmp.Or(config.Hostname, hostname), err
}

// UserData reads user data, for cloud-init or Ignition, with the metadata of the drive.
func UserData(raw []byte, metaData map[string]any) (cloudinit.Config, error) {
	if ignition.Is(raw) {
		return ignition.Parse(raw, metaData)
	}
	rendered, err := cloudinit.Render(raw, cloudinit.InstanceData(metaData))
	if err != nil {
		return cloudinit.Config{}, err
	}
	return cloudinit.Parse(rendered)
}
