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

package drive

import (
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
)

// Read takes the contents of a host's config drive from its secrets. An error of
// type configdrive.Error is a defect of the drive, any other one is worth a retry.
func Read(ctx context.Context, secrets client.Reader, host *bmov1alpha1.BareMetalHost) (configdrive.Contents, error) {
	var contents configdrive.Contents
	sources := configdrive.SourcesOf(host)
	for _, part := range []struct {
		source configdrive.Source
		into   *string
	}{
		{sources.UserData, &contents.UserData},
		{sources.MetaData, &contents.MetaData},
		{sources.NetworkData, &contents.NetworkData},
	} {
		content, err := readSource(ctx, secrets, host.Namespace, part.source)
		if err != nil {
			return configdrive.Contents{}, err
		}
		*part.into = string(content)
	}
	return contents, nil
}

func readSource(ctx context.Context, secrets client.Reader, namespace string, source configdrive.Source) ([]byte, error) {
	if source.Secret == "" {
		return nil, nil
	}
	if err := source.Check(); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	err := secrets.Get(ctx, client.ObjectKey{Namespace: namespace, Name: source.Secret}, secret)
	if apierrors.IsNotFound(err) {
		return nil, source.Error(errors.New("the secret does not exist"))
	}
	if err != nil {
		return nil, fmt.Errorf("read secret %s/%s: %w", namespace, source.Secret, err)
	}
	return source.Pick(secret.Data)
}
