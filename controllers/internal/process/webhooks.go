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

package process

import (
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// maxReviewBytes bounds the admission reviews that are decoded at a time, each of which takes a
// multiple of its size: a tenant may write many large objects at once. The API server sends an
// object before and after its change, each of at most 3 MiB.
const maxReviewBytes = 16 << 20

// reviewTime is how long the API server may take to send an admission review, which it has in memory.
const reviewTime = 5 * time.Second

// boundedServer has webhooks wait for their turn before they read a request.
type boundedServer struct {
	webhook.Server
	bytes *semaphore.Weighted
}

func newBoundedServer(s webhook.Server) boundedServer {
	return boundedServer{s, semaphore.NewWeighted(maxReviewBytes)}
}

// Register serves a webhook at a path.
func (s boundedServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 || size > maxReviewBytes {
			http.Error(w, "an admission review says its size, of at most 16 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		if err := s.bytes.Acquire(r.Context(), size); err != nil {
			http.Error(w, "too many large admission reviews at a time", http.StatusTooManyRequests)
			return
		}
		defer s.bytes.Release(size)
		// A sender that stops in the middle holds up others no longer than that. Tests have no connection.
		_ = http.NewResponseController(w).SetReadDeadline(clock.RealClock{}.Now().Add(reviewTime))
		hook.ServeHTTP(w, r)
	}))
}
