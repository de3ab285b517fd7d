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
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryclient "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/client"
	inmemorygroup "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/resourcegroup"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// withSubresources adds what the in-memory API server, which knows no subresources, lacks: a write to the status
// of an object changes the object, and pods can be evicted.
func (c *Clusters) withSubresources(cl *cluster, api http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/namespaces/{namespace}/pods/{name}/eviction", func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		err := cl.evict(r.Context(), client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")})
		status := metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
		if refusal := apierrors.APIStatus(nil); errors.As(err, &refusal) {
			status = refusal.Status()
		} else if err != nil {
			status = apierrors.NewInternalError(err).ErrStatus
		}
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		if err := json.NewEncoder(w).Encode(status); err != nil {
			c.log.Error(err, "Cannot answer an eviction", "endpoint", cl.name)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch || r.Method == http.MethodPut {
			r.URL.Path = strings.TrimSuffix(r.URL.Path, "/status")
		}
		api.ServeHTTP(w, r)
	})
	return mux
}

// store is the in-memory store as the API server of a cluster needs it.
type store struct{ inmemoryruntime.Manager }

// GetResourceGroup returns the objects of one cluster.
func (s store) GetResourceGroup(name string) inmemorygroup.ResourceGroup {
	return group{s.Manager.GetResourceGroup(name).GetClient(), s.GetScheme()}
}

type group struct {
	inmemoryclient.Client
	scheme *runtime.Scheme
}

// GetClient makes a group its own client.
func (g group) GetClient() inmemoryclient.Client { return g }

// Patch keeps an object in the type of its kind: the in-memory API server would store it without one, where typed
// lists fail and field selectors do not see it. An object that loses its last finalizer while it is deleted is gone.
func (g group) Patch(ctx context.Context, obj client.Object, patch client.Patch) error {
	made, err := g.scheme.New(obj.GetObjectKind().GroupVersionKind())
	if err != nil {
		return err
	}
	typed, ok := made.(client.Object)
	if !ok {
		return fmt.Errorf("a %T is no object", made)
	}
	if err := merge(obj, patch, typed); err != nil {
		return err
	}
	if err := g.Update(ctx, typed); err != nil {
		return err
	}
	if !typed.GetDeletionTimestamp().IsZero() && len(typed.GetFinalizers()) == 0 {
		if err := g.Delete(ctx, typed); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return g.scheme.Convert(typed, obj, nil)
}

// merge writes an object as a merge patch changes it into another, which is empty. The in-memory API server takes
// strategic merge patches for merge patches too.
func merge(obj client.Object, patch client.Patch, into client.Object) error {
	before, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	change, err := patch.Data(obj)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, change)
	if err != nil {
		return err
	}
	return json.Unmarshal(after, into)
}
