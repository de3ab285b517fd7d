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
	"encoding/json"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// route sends a request to etcd or to the API server. Only who showed a client
// certificate of the cluster gets to the API, apart from what a real API server
// tells everybody: health, version, and the cluster-info that joining machines
// start from.
func (s *Server) route() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, member := s.member(r.TLS.ServerName); member {
			s.config.Etcd.ServeHTTP(w, r)
			return
		}
		switch r.URL.Path {
		case "/healthz", "/livez", "/readyz":
			_, _ = w.Write([]byte("ok"))
			return
		case "/version":
			writeJSON(w, http.StatusOK, version.Info{GitVersion: s.config.Version, Platform: "linux/amd64"})
			return
		}
		clusterInfo := r.Method == http.MethodGet && r.URL.Path == "/api/v1/namespaces/kube-public/configmaps/cluster-info"
		if len(r.TLS.VerifiedChains) == 0 && !clusterInfo {
			writeJSON(w, http.StatusUnauthorized, metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized,
				Code: http.StatusUnauthorized, Message: "Unauthorized",
			})
			return
		}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
			http.Error(w, "server-side apply is not supported by this API server", http.StatusUnsupportedMediaType)
			return
		}
		if asTable(r) {
			serveTable(s.config.API, w, r, time.Now())
			return
		}
		s.config.API.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// The connection is the client's; it sees what got through.
	_, _ = w.Write(encoded)
}
