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

package workload

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

const tokenPrefix = "bootstrap-token-"

// checkToken admits a joining machine that trusts this cluster and that this
// cluster's tokens vouch for. A rebuilt cluster has lost its tokens and admits
// each machine whose token it cannot disprove.
func (cl *cluster) checkToken(ctx context.Context, token kubeadm.BootstrapToken, now time.Time) error {
	if !token.Trusts(cl.pki.Cluster.Certificate) {
		return fmt.Errorf("the authority of the cluster at %s is not one of the pinned caCertHashes", cl.name)
	}
	id, secretPart, found := strings.Cut(token.Token, ".")
	if !found {
		return fmt.Errorf("the bootstrap token %q is not of the form id.secret", id)
	}
	secret := &corev1.Secret{}
	err := cl.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: tokenPrefix + id}, secret)
	switch {
	case apierrors.IsNotFound(err) && cl.rebuilt:
		return nil
	case apierrors.IsNotFound(err):
		return notYetf("the cluster at %s has no bootstrap token %q", cl.name, id)
	case err != nil:
		return err
	}
	return tokenVouches(secret.Data, id, secretPart, now)
}

// tokenVouches reads a token secret the way the API server does.
func tokenVouches(data map[string][]byte, id, secretPart string, now time.Time) error {
	if string(data["token-id"]) != id || string(data["token-secret"]) != secretPart {
		return fmt.Errorf("the bootstrap token %q is not the one that the cluster knows", id)
	}
	if string(data["usage-bootstrap-authentication"]) != "true" {
		return fmt.Errorf("the bootstrap token %q is not meant for authentication", id)
	}
	expiration, set := data["expiration"]
	if !set {
		return nil
	}
	end, err := time.Parse(time.RFC3339, string(expiration))
	if err != nil {
		return fmt.Errorf("the bootstrap token %q has an unreadable expiration", id)
	}
	if !now.Before(end) {
		return fmt.Errorf("the bootstrap token %q expired at %s", id, end.UTC().Format(time.RFC3339))
	}
	return nil
}
