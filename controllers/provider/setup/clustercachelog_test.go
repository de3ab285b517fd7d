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

package setup

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestAMissingKubeconfigIsNoErrorLine(t *testing.T) {
	missing := fmt.Errorf("error creating REST config: %w",
		apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "new-kubeconfig"))
	for name, tt := range map[string]struct {
		err       error
		verbosity int
		want      string
	}{
		"a kubeconfig that does not exist yet is not logged":  {err: missing},
		"a kubeconfig that does not exist yet is shown at V4": {err: missing, verbosity: 4, want: "Waiting for the kubeconfig of the Cluster"},
		"a workload cluster that answers 404 is logged":       {err: apierrors.NewGenericServerResponse(404, "GET", schema.GroupResource{}, "", "", 0, true), want: `"error"=`},
		"another error is logged as it was":                   {err: errors.New("no route"), want: `"error"="no route"`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			log := funcr.New(func(_, args string) { got = append(got, args) }, funcr.Options{Verbosity: tt.verbosity})
			mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{Logger: log})
			expect.NoError(t, err)
			quietManager{mgr}.GetLogger().WithName("clustercache").WithValues("Cluster", "new").Error(tt.err, "Connect failed")
			expect.That(t, tt.want != "" || len(got) == 0, "logged %q", got)
			if tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want) || !strings.Contains(got[0], `"Cluster"="new"`)) {
				t.Errorf("logged %q, want %s of the Cluster", got, tt.want)
			}
		})
	}
}
