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

package kubeadm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/cloudinit"
)

// Role is what a machine becomes.
type Role string

const (
	// Init founds the cluster with this machine as its first control plane.
	Init Role = "init"
	// JoinControlPlane adds a control plane to a cluster that runs.
	JoinControlPlane Role = "join control plane"
	// JoinWorker adds a worker to a cluster that runs.
	JoinWorker Role = "join worker"
)

// Plan is everything that a run of kubeadm on the machine would act on.
type Plan struct {
	Role         Role
	Registration NodeRegistration
	// Endpoint is the host:port of the API server, for every role.
	Endpoint string
	// Cluster and ClusterYAML, the document as written, are set for Init only.
	Cluster     ClusterConfiguration
	ClusterYAML string
	// Token is how a joining machine proves itself; nil for Init.
	Token *BootstrapToken
	// PKI is set for both control plane roles.
	PKI PKI
}

// ErrNoCommand is returned for user data that does not call kubeadm, as that of a server
// which is claimed by hand.
var ErrNoCommand = errors.New("runcmd has no kubeadm init or join with --config")

// command finds the kubeadm call among boot commands.
var command = regexp.MustCompile(`(?:^|[\s;&|'"])kubeadm\s+(init|join)\b.*?--config[= ]\s*(\S+)`)

// Read finds the kubeadm call of a cloud-config and what it is configured with.
func Read(config cloudinit.Config) (Plan, error) {
	verb, path, err := findCommand(config.Commands)
	if err != nil {
		return Plan{}, err
	}
	content, ok := config.Files[path]
	if !ok {
		return Plan{}, fmt.Errorf("kubeadm %s reads %s, which no write_files entry creates", verb, path)
	}
	documents, err := readDocuments(content)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", path, err)
	}
	var plan Plan
	if verb == "init" {
		plan, err = readInit(documents)
	} else {
		plan, err = readJoin(documents)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", path, err)
	}
	if plan.Role != JoinWorker {
		plan.PKI, err = readPKI(config.Files)
	}
	return plan, err
}

func findCommand(commands []string) (verb, path string, err error) {
	for _, line := range commands {
		if found := command.FindStringSubmatch(line); found != nil {
			return found[1], found[2], nil
		}
	}
	return "", "", ErrNoCommand
}

// readDocuments splits a kubeadm configuration file into its kinds.
func readDocuments(content []byte) (map[string][]byte, error) {
	documents := map[string][]byte{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		var header struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal(document, &header); err != nil {
			return nil, err
		}
		switch header.APIVersion {
		case "kubeadm.k8s.io/v1beta3", "kubeadm.k8s.io/v1beta4":
			documents[header.Kind] = document
		}
	}
}

func readInit(documents map[string][]byte) (Plan, error) {
	plan := Plan{Role: Init, ClusterYAML: string(documents["ClusterConfiguration"])}
	if err := decode(documents, "ClusterConfiguration", &plan.Cluster); err != nil {
		return Plan{}, err
	}
	var own initConfiguration
	if err := decode(documents, "InitConfiguration", &own); err != nil {
		return Plan{}, err
	}
	plan.Registration = own.NodeRegistration
	plan.Endpoint = plan.Cluster.ControlPlaneEndpoint
	if plan.Endpoint == "" {
		return Plan{}, errors.New("ClusterConfiguration has no controlPlaneEndpoint")
	}
	if plan.Cluster.Etcd.External != nil {
		return Plan{}, errors.New("ClusterConfiguration asks for an external etcd, which is not played")
	}
	return plan, nil
}

func readJoin(documents map[string][]byte) (Plan, error) {
	var own joinConfiguration
	if err := decode(documents, "JoinConfiguration", &own); err != nil {
		return Plan{}, err
	}
	plan := Plan{Role: JoinWorker, Registration: own.NodeRegistration, Token: own.Discovery.BootstrapToken}
	if own.ControlPlane != nil && string(*own.ControlPlane) != "null" {
		plan.Role = JoinControlPlane
	}
	if plan.Token == nil {
		return Plan{}, errors.New("JoinConfiguration has no discovery.bootstrapToken, the only discovery that is played")
	}
	plan.Endpoint = plan.Token.APIServerEndpoint
	if plan.Endpoint == "" {
		return Plan{}, errors.New("JoinConfiguration has no discovery.bootstrapToken.apiServerEndpoint")
	}
	return plan, nil
}

func decode(documents map[string][]byte, kind string, into any) error {
	document, ok := documents[kind]
	if !ok {
		return fmt.Errorf("no %s of kubeadm.k8s.io/v1beta3 or v1beta4", kind)
	}
	if err := yaml.Unmarshal(document, into); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}
