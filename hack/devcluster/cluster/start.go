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

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"k8s.io/client-go/kubernetes"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// Tiers of the control plane: what others need ends after them.
const (
	tierEtcd = iota
	tierAPIServer
	// TierManagers is for everything that talks to the API server.
	TierManagers
)

// controllers of the controller manager that a cluster without nodes needs:
// owner references, namespaces, default service accounts, aggregated roles.
const controllers = "garbage-collector-controller,namespace-controller,serviceaccount-controller,clusterrole-aggregation-controller"

func (s *starter) startEtcd(ctx context.Context) error {
	s.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", s.ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", s.ports[1])
	p, err := s.start(components.Etcd, tierEtcd,
		"--data-dir", filepath.Join(s.options.Dir, "etcd"),
		"--listen-client-urls", s.etcdURL,
		"--advertise-client-urls", s.etcdURL,
		"--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer,
		"--initial-cluster", "default="+peer,
		"--unsafe-no-fsync",
		"--log-level", "warn")
	if err != nil {
		return err
	}
	return p.WaitReady(ctx, readyTimeout, Healthy(http.DefaultClient, s.etcdURL+"/readyz"))
}

func (s *starter) startAPIServer(ctx context.Context) error {
	file := func(name string) string { return filepath.Join(s.pkiDir, name) }
	audit, err := s.auditArgs()
	if err != nil {
		return err
	}
	p, err := s.start(components.APIServer, tierAPIServer, append(audit,
		"--etcd-servers", s.etcdURL,
		"--bind-address", "127.0.0.1",
		"--advertise-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(s.ports[2]),
		"--tls-cert-file", file("apiserver.crt"),
		"--tls-private-key-file", file("apiserver.key"),
		"--client-ca-file", file("ca.crt"),
		"--authorization-mode", "RBAC",
		// No pods run here that an account could be mounted into.
		"--disable-admission-plugins", "ServiceAccount",
		"--enable-admission-plugins", "OwnerReferencesPermissionEnforcement",
		"--service-account-issuer", s.cluster.Server,
		"--service-account-key-file", file("service-accounts.crt"),
		"--service-account-signing-key-file", file("service-accounts.key"),
		"--service-cluster-ip-range", "10.0.0.0/24",
		"--endpoint-reconciler-type", "none")...)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(s.cluster.Admin)
	if err != nil {
		return err
	}
	return p.WaitReady(ctx, readyTimeout, func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

func (s *starter) startControllerManager(ctx context.Context) error {
	kubeconfig, err := s.cluster.clientKubeconfig("system:kube-controller-manager")
	if err != nil {
		return err
	}
	p, err := s.start(components.ControllerManager, TierManagers,
		"--kubeconfig", kubeconfig,
		"--authentication-kubeconfig", kubeconfig,
		"--authorization-kubeconfig", kubeconfig,
		"--bind-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(s.ports[3]),
		"--tls-cert-file", filepath.Join(s.pkiDir, "apiserver.crt"),
		"--tls-private-key-file", filepath.Join(s.pkiDir, "apiserver.key"),
		"--controllers", controllers,
		"--use-service-account-credentials",
		"--leader-elect=false")
	if err != nil {
		return err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d/healthz", s.ports[3])
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: s.cluster.TLS(), DisableKeepAlives: true}}
	return p.WaitReady(ctx, readyTimeout, Healthy(client, url))
}

func (s *starter) start(name string, tier int, args ...string) (*process.Process, error) {
	found, err := components.Lookup(name)
	if err != nil {
		return nil, err
	}
	path, err := s.options.Repo.Binary(found[0])
	if err != nil {
		return nil, err
	}
	return s.options.Group.Start(process.Spec{Name: name, Path: path, Args: args, Tier: tier})
}

// TLS trusts the servers of this cluster, webhooks included.
func (c *Cluster) TLS() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.Authority.Cert)
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// Healthy returns a check that a GET of url answers 200.
func Healthy(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(answer.Body, 2000))
		if answer.StatusCode != http.StatusOK {
			err = errors.Join(err, fmt.Errorf("%s answers %s: %s", url, answer.Status, text))
		}
		return errors.Join(err, answer.Body.Close())
	}
}
