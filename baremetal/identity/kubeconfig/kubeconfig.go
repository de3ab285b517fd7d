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
)

// ForbiddenError is a kubeconfig that asks for something a manager must not do
// for a tenant. Its text holds no part of a credential.
type ForbiddenError struct {
	// Field is where it does so, such as users[admin].tokenFile.
	Field string
	// Remedy is what to write instead.
	Remedy string
}

// Error names the field and the remedy.
func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("kubeconfig: %s is not permitted: %s", e.Field, e.Remedy)
}

// File is a kubeconfig in which everything is embedded.
type File struct {
	config *clientcmdapi.Config
}

// Parse returns a kubeconfig in which everything is embedded. All users and clusters
// of it must be so, whether its current context uses them or not. It returns a ForbiddenError
// with the forbidden fields, or an InvalidError for one that cannot be parsed.
func Parse(data []byte) (File, error) {
	config, err := load(data)
	return File{config}, err
}

// load parses a kubeconfig that Parse accepts.
func load(data []byte) (*clientcmdapi.Config, error) {
	text, err := plain(data)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, unparsable()
	}
	for _, name := range slices.Sorted(maps.Keys(config.AuthInfos)) {
		if err := checkUser(name, config.AuthInfos[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(config.Clusters)) {
		if err := checkCluster(name, config.Clusters[name]); err != nil {
			return nil, err
		}
	}
	return config, nil
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
			return &ForbiddenError{Field: fmt.Sprintf("users[%s].%s", inBrackets(name), field.name), Remedy: field.remedy}
		}
	}
	return nil
}

// checkCluster refuses files, and connections without verified TLS.
func checkCluster(name string, cluster *clientcmdapi.Cluster) error {
	if cluster.CertificateAuthority != "" {
		return &ForbiddenError{
			Field:  fmt.Sprintf("clusters[%s].certificate-authority", inBrackets(name)),
			Remedy: "embed its content as certificate-authority-data",
		}
	}
	// A server without a scheme is taken for http by client-go.
	server, err := url.Parse(cluster.Server)
	if err != nil || !strings.EqualFold(server.Scheme, "https") {
		return &ForbiddenError{Field: fmt.Sprintf("clusters[%s].server", inBrackets(name)), Remedy: "give a URL that starts with https://"}
	}
	return nil
}

// InvalidError is a kubeconfig that lacks something or contradicts itself. Its text
// holds no part of a credential.
type InvalidError struct {
	// Problem is what is wrong, Remedy what to write instead.
	Problem, Remedy string
}

// Error names the problem and the remedy.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("kubeconfig: %s: %s", e.Problem, e.Remedy)
}

// ContextError is a kubeconfig without the context that is asked for.
type ContextError struct {
	// Name of the context; empty if the kubeconfig has no current context.
	Name string
}

// Error names the context and the remedy.
func (e *ContextError) Error() string {
	if e.Name == "" {
		return "kubeconfig: no context is current: set current-context, or name a context in identityRef.context"
	}
	return fmt.Sprintf("kubeconfig: there is no context %s: name one that the file has", quote(e.Name))
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

// inBrackets shows a name in the path of a field: as it is where it is plain.
func inBrackets(name string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@"
	if quoted := quote(name); name == "" || strings.Trim(name, plain) != "" || len(quoted) > len(name)+len(`""`) {
		return quoted
	}
	return name
}
