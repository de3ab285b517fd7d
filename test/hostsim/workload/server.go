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
	"crypto/tls"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryapi "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	inmemoryetcd "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"

	"github.com/metal3-io/cluster-api-provider-metal3/test/hostsim/kubeadm"
)

// server is the endpoint of one cluster. The API server and all etcd members
// share it: clients reach a member through a forwarded port and name its pod as
// TLS server name. That name selects certificate and client authority.
type server struct {
	endpoint string
	pki      kubeadm.PKI
	api      *tls.Certificate
	handler  http.Handler

	mu       sync.RWMutex
	members  map[string]*tls.Certificate
	running  *http.Server
	listener net.Listener
}

func newServer(runtime inmemoryruntime.Manager, log logr.Logger, name string, m Machine) (*server, error) {
	host, _, err := net.SplitHostPort(m.Plan.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("control plane endpoint %q is not host:port", m.Plan.Endpoint)
	}
	s := &server{endpoint: m.Plan.Endpoint, pki: m.Plan.PKI, members: map[string]*tls.Certificate{}}
	if s.api, err = issue(s.pki.Cluster, "kube-apiserver", append(m.Plan.Cluster.APIServer.CertSANs, host)...); err != nil {
		return nil, err
	}
	resolve := func(string) (string, error) { return name, nil }
	s.handler = s.route(
		inmemoryapi.NewAPIServerHandler(runtime, log.V(2), resolve),
		inmemoryetcd.NewEtcdServerHandler(runtime, log.V(2), resolve),
		m.Node.KubeletVersion)
	return s, nil
}

// listen opens the endpoint unless it is open.
func (s *server) listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return nil
	}
	var err error
	if s.listener, err = net.Listen("tcp", s.endpoint); err != nil {
		return fmt.Errorf("control plane endpoint: %w", err)
	}
	s.running = &http.Server{
		Handler:   s.handler,
		TLSConfig: &tls.Config{GetConfigForClient: s.configFor, MinVersion: tls.VersionTLS12},
		// Clients that give up a handshake are no news.
		ErrorLog: stdlog.New(io.Discard, "", 0),
	}
	go func(running *http.Server, listener net.Listener) {
		// Serve ends with an error in any case, and only when it is closed.
		_ = running.ServeTLS(listener, "", "")
	}(s.running, s.listener)
	return nil
}

// close drops the endpoint and every connection to it.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		// A server that has not begun to serve does not know its listener yet.
		_ = s.listener.Close()
		_ = s.running.Close()
		s.running = nil
	}
}

func (s *server) addMember(pod string) error {
	certificate, err := issue(s.pki.Etcd, pod, pod)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[pod] = certificate
	return nil
}

func (s *server) removeMember(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, pod)
}

func (s *server) member(name string) (*tls.Certificate, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	certificate, ok := s.members[name]
	return certificate, ok
}

// configFor makes etcd members demand a client certificate of their authority.
// The API server checks one if it is shown; see route for who must.
func (s *server) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	config := &tls.Config{
		Certificates: []tls.Certificate{*s.api},
		ClientCAs:    pool(s.pki.Cluster),
		ClientAuth:   tls.VerifyClientCertIfGiven,
		NextProtos:   []string{"h2", "http/1.1"},
		MinVersion:   tls.VersionTLS12,
	}
	if certificate, ok := s.member(hello.ServerName); ok {
		config.Certificates = []tls.Certificate{*certificate}
		config.ClientCAs = pool(s.pki.Etcd)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
