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

package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// patience is how long the server may take to start and to stop. It takes seconds on
// a machine that does nothing else; the defaults of envtest fail on a busy one.
const patience = 2 * time.Minute

// Server is an API server that lives as long as the tests of one package. Its
// zero value is ready for Run.
type Server struct {
	// CRDs are files and folders with the CRDs. Without them the server has those
	// of this repository, and the kinds of other projects without a schema.
	CRDs []string
	// AdmissionPlugins are those that the server has beyond its defaults.
	AdmissionPlugins []string
	// Config has the rights of the administrator.
	Config *rest.Config
	// Scheme knows every kind that the managers use.
	Scheme *runtime.Scheme
	// Client reads and writes as the administrator, without a cache.
	Client client.WithWatch

	environment *envtest.Environment
}

// Run starts the server, runs the tests and stops the server. A TestMain calls
// it with its *testing.M and exits with what it returns.
func (s *Server) Run(tests interface{ Run() int }) int {
	if err := s.start(); err != nil {
		fmt.Fprintf(os.Stderr, "API server for the tests: %v\n"+
			"Build its programs first: go -C hack/devcluster run . build etcd kube-apiserver\n", err)
		return 1
	}
	code := tests.Run()
	if err := s.environment.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stop the API server of the tests: %v\n", err)
		return 1
	}
	return code
}

func (s *Server) start() error {
	root, err := repository()
	if err != nil {
		return err
	}
	if s.Scheme, err = newScheme(); err != nil {
		return err
	}
	crds := envtest.CRDInstallOptions{Paths: s.CRDs, ErrorIfPathMissing: true}
	if len(s.CRDs) == 0 {
		crds.Paths = []string{
			filepath.Join(root, "config", "crd", "bases"),
			filepath.Join(root, "config", "hostclaim", "crd", "bases"),
			filepath.Join(root, "hack", "devcluster", "manager", "baremetal-operator-0.14", "crd", "hostclaims.yaml"),
		}
		crds.CRDs = foreignKinds()
	}
	s.environment = &envtest.Environment{
		BinaryAssetsDirectory: assets(root), CRDInstallOptions: crds,
		ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
	}
	s.environment.ControlPlane.GetAPIServer().Configure().Set("authorization-mode", "RBAC").
		Append("enable-admission-plugins", s.AdmissionPlugins...)
	if s.Config, err = s.environment.Start(); err != nil {
		return err
	}
	s.Config.QPS, s.Config.Burst = 500, 1000
	s.Client, err = client.NewWithWatch(s.Config, client.Options{Scheme: s.Scheme})
	return err
}

// repository finds the root of the repository above the package under test.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "config", "crd", "bases")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder config/crd/bases above %s", dir)
		}
		dir = filepath.Dir(dir)
	}
}

// assets is where kube-apiserver and etcd lie if KUBEBUILDER_ASSETS does not say:
// where the dev cluster builds them. Empty leaves it to envtest.
func assets(root string) string {
	built, err := filepath.Glob(filepath.Join(root, "bin", "components", "envtest-*"))
	if err != nil || len(built) == 0 || os.Getenv("KUBEBUILDER_ASSETS") != "" {
		return ""
	}
	return built[len(built)-1]
}

// User returns a client for a new user with a client certificate. The user has no
// rights but those that are bound to its name and its groups.
func (s *Server) User(name string, groups ...string) (client.WithWatch, error) {
	user, err := s.environment.AddUser(envtest.User{Name: name, Groups: groups}, rest.CopyConfig(s.Config))
	if err != nil {
		return nil, fmt.Errorf("credentials of %s: %w", name, err)
	}
	return client.NewWithWatch(user.Config(), client.Options{Scheme: s.Scheme})
}

// Kubeconfig is that of the administrator.
func (s *Server) Kubeconfig() []byte { return s.environment.KubeConfig }

// TokenKey is the key that signs tokens of service accounts, in PEM. A test makes
// tokens with it that are almost expired, which the API server does not issue.
func (s *Server) TokenKey() ([]byte, error) {
	return os.ReadFile(filepath.Join(s.environment.ControlPlane.GetAPIServer().CertDir, "sa-signer.key"))
}

// Stored is an object of a CRD as etcd holds it, in JSON, by the parts of its key.
func (s *Server) Stored(t *testing.T, key ...string) []byte {
	t.Helper()
	question, err := json.Marshal(map[string][]byte{"key": []byte("/registry/" + strings.Join(key, "/"))})
	expect.Must(t, err == nil, "%v", err)
	at := s.environment.ControlPlane.Etcd.URL.JoinPath("v3", "kv", "range")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.String(), bytes.NewReader(question))
	expect.Must(t, err == nil, "%v", err)
	response, err := http.DefaultClient.Do(request)
	expect.Must(t, err == nil, "ask etcd: %v", err)
	defer response.Body.Close()
	var answer struct {
		KVs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	expect.Must(t, err == nil && len(answer.KVs) == 1, "etcd answers %s with %d objects, error %v", response.Status, len(answer.KVs), err)
	return answer.KVs[0].Value
}

// Namespace creates a namespace for one test and returns its name.
func (s *Server) Namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-"}}
	if err := s.Client.Create(t.Context(), ns); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return ns.Name
}

// Create creates objects as they are, status and deletion included, and leaves
// in them what the server made of them.
func (s *Server) Create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		wanted := copyOf(o)
		if err := s.Client.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
		s.SetStatus(t, o, wanted)
		if wanted.GetDeletionTimestamp() == nil {
			continue
		}
		if err := s.Client.Delete(t.Context(), o); err != nil {
			t.Fatalf("delete %T %s: %v", o, o.GetName(), err)
		}
	}
}

// SetStatus gives an object that exists the status of another one, if that has any.
func (s *Server) SetStatus(t *testing.T, o, wanted client.Object) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		t.Fatalf("convert %T: %v", wanted, err)
	}
	if status, ok := content["status"].(map[string]any); !ok || len(status) == 0 {
		return
	}
	data, err := json.Marshal(map[string]any{"status": content["status"]})
	if err != nil {
		t.Fatalf("encode the status of %T: %v", wanted, err)
	}
	if err := s.Client.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, data)); err != nil {
		t.Fatalf("status of %T %s: %v", o, o.GetName(), err)
	}
}

func copyOf(o client.Object) client.Object {
	return o.DeepCopyObject().(client.Object) //nolint:forcetypeassert,errcheck // a copy has the type of the original
}
