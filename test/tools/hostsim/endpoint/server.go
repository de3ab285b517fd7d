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

package endpoint

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	stdlog "log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

// headerTimeout is how long a client may take to send the headers of a request.
const headerTimeout = 10 * time.Second

// Config is what a server is made of.
type Config struct {
	// Address is the host:port to listen on.
	Address string
	PKI     kubeadm.PKI
	// Names are further names of the API server's certificate.
	Names []string
	// Version is what the API server calls itself.
	Version string
	// API and Etcd answer the requests that are let through.
	API  http.Handler
	Etcd http.Handler
}

// Server is the endpoint of one cluster. The API server and all etcd members
// share it: clients reach a member through a forwarded port and name its pod as
// TLS server name. That name selects certificate and client authority.
type Server struct {
	config  Config
	api     *tls.Certificate
	handler http.Handler

	mu       sync.RWMutex
	members  map[string]*tls.Certificate
	running  *http.Server
	listener net.Listener
}

// New makes a server that does not listen yet.
func New(config Config) (*Server, error) {
	host, _, err := net.SplitHostPort(config.Address)
	if err != nil {
		return nil, fmt.Errorf("control plane endpoint %q is not host:port", config.Address)
	}
	s := &Server{config: config, members: map[string]*tls.Certificate{}}
	if s.api, err = issue(config.PKI.Cluster, "kube-apiserver", append(config.Names, host)...); err != nil {
		return nil, err
	}
	s.handler = s.route()
	return s, nil
}

// Listen opens the endpoint unless it is open.
func (s *Server) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return nil
	}
	var err error
	if s.listener, err = net.Listen("tcp", s.config.Address); err != nil {
		return fmt.Errorf("control plane endpoint: %w", err)
	}
	s.running = &http.Server{
		Handler:   s.handler,
		TLSConfig: &tls.Config{GetConfigForClient: s.configFor, MinVersion: tls.VersionTLS12},
		// Clients that give up a handshake are no news.
		ErrorLog:          stdlog.New(io.Discard, "", 0),
		ReadHeaderTimeout: headerTimeout,
	}
	go func(running *http.Server, listener net.Listener) {
		// Serve ends with an error in any case, and only when it is closed.
		_ = running.ServeTLS(listener, "", "")
	}(s.running, s.listener)
	return nil
}

// Close drops the endpoint and every connection to it.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		// A server that has not begun to serve does not know its listener yet.
		_ = s.listener.Close()
		_ = s.running.Close()
		s.running = nil
	}
}

// AddMember makes the etcd member of a pod answer.
func (s *Server) AddMember(pod string) error {
	certificate, err := issue(s.config.PKI.Etcd, pod, pod)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[pod] = certificate
	return nil
}

// RemoveMember silences the etcd member of a pod.
func (s *Server) RemoveMember(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, pod)
}

func (s *Server) member(name string) (*tls.Certificate, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	certificate, ok := s.members[name]
	return certificate, ok
}

// configFor makes etcd members demand a client certificate of their authority.
// The API server checks one if it is shown; see route for who must.
func (s *Server) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	config := &tls.Config{
		Certificates: []tls.Certificate{*s.api},
		ClientCAs:    pool(s.config.PKI.Cluster),
		ClientAuth:   tls.VerifyClientCertIfGiven,
		NextProtos:   []string{"h2", "http/1.1"},
		MinVersion:   tls.VersionTLS12,
	}
	if certificate, ok := s.member(hello.ServerName); ok {
		config.Certificates = []tls.Certificate{*certificate}
		config.ClientCAs = pool(s.config.PKI.Etcd)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// validity is how long kubeadm issues certificates for.
const validity = 365 * 24 * time.Hour

// issue makes a serving certificate for the names, which may be addresses.
func issue(authority kubeadm.Authority, commonName string, names ...string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    authority.Certificate.NotBefore,
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range append(names, "localhost", "127.0.0.1") {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Certificate, key.Public(), authority.Key)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate for %s: %w", commonName, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func pool(authority kubeadm.Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(authority.Certificate)
	return p
}
