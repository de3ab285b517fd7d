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

// Package kubeconfig decides whether a manager may use a kubeconfig that a tenant
// wrote, and resolves where a context of it leads.
//
// Tenants write kubeconfigs: those of their workload clusters and those of clusters with hosts for
// them. client-go does all that a kubeconfig asks for: it reads files of the process, its own
// service-account token among them, and sends them to a server that the kubeconfig names; it runs
// programs. Only what is embedded is therefore accepted, and of that an Access holds all that a
// connection may be made of. The package parses and decides; it connects to nothing and reads no
// file.
package kubeconfig

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

// Forbidden is the problem of a kubeconfig that asks for something a manager must not do for a
// tenant: the field where it does so, such as users["admin"].tokenFile, and what to write instead.
func Forbidden(field, remedy string) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.ForbiddenKubeconfigFeatureReason, Message: fmt.Sprintf("kubeconfig: %s is not permitted: %s", field, remedy),
	}
}

// invalid is the problem of a kubeconfig that lacks something or contradicts itself.
func invalid(problem, remedy string) *identity.Problem {
	return &identity.Problem{Reason: infrav1.InvalidKubeconfigReason, Message: fmt.Sprintf("kubeconfig: %s: %s", problem, remedy)}
}

// File is a kubeconfig in which everything is embedded.
type File struct {
	config *clientcmdapi.Config
}

// Parse returns a kubeconfig in which everything is embedded. All users and clusters
// of it must be so, whether its current context uses them or not. The error is an identity.Problem.
func Parse(data []byte) (File, error) {
	text, err := plain(data)
	if err != nil {
		return File{}, err
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return File{}, unparsable()
	}
	for _, name := range slices.Sorted(maps.Keys(config.AuthInfos)) {
		if err := checkUser(name, config.AuthInfos[name]); err != nil {
			return File{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(config.Clusters)) {
		if err := checkCluster(name, config.Clusters[name]); err != nil {
			return File{}, err
		}
	}
	return File{config}, nil
}

// checkUser refuses whatever makes client-go read a file, run a program or
// impersonate another user.
func checkUser(name string, user *clientcmdapi.AuthInfo) error {
	const embed = "embed its content"
	for _, field := range []struct {
		name, remedy string
		set          bool
	}{
		{"exec", "use a token or an embedded client certificate", user.Exec != nil},
		{"auth-provider", "use a token or an embedded client certificate", user.AuthProvider != nil},
		{"tokenFile", embed + " as token", user.TokenFile != ""},
		{"client-certificate", embed + " as client-certificate-data", user.ClientCertificate != ""},
		{"client-key", embed + " as client-key-data", user.ClientKey != ""},
		{"as", "use credentials of the user itself", user.Impersonate != "" || user.ImpersonateUID != "" ||
			len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0},
	} {
		if field.set {
			return Forbidden(fmt.Sprintf("users[%s].%s", quote(name), field.name), field.remedy)
		}
	}
	return nil
}

// checkCluster refuses files, and connections without verified TLS.
func checkCluster(name string, cluster *clientcmdapi.Cluster) error {
	if cluster.CertificateAuthority != "" {
		return Forbidden(clusterField(name, "certificate-authority"), "embed its content as certificate-authority-data")
	}
	// A server without a scheme is taken for http by client-go.
	server, err := url.Parse(cluster.Server)
	if err != nil || !strings.EqualFold(server.Scheme, "https") {
		return Forbidden(clusterField(name, "server"), "give a URL that starts with https://")
	}
	return nil
}

func clusterField(name, field string) string {
	return fmt.Sprintf("clusters[%s].%s", quote(name), field)
}

// quote shows a name of a kubeconfig in a message, without characters that could
// pass for something else, and cut where it is too long.
func quote(name string) string {
	const longest = 64
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest]) + "..."
	}
	return fmt.Sprintf("%+q", name)
}
