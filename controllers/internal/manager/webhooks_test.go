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

package manager

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// served is a webhook server that has one hook and no listener.
type served struct {
	webhook.Server
	hook http.Handler
}

func (s *served) Register(_ string, hook http.Handler) { s.hook = hook }

// post answers with the status for a request of that size whose sender may leave.
func post(ctx context.Context, hook http.Handler, size int64) int {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(nil))
	r.ContentLength = size
	w := httptest.NewRecorder()
	hook.ServeHTTP(w, r)
	return w.Code
}

func TestAttackManyLargeReviews(t *testing.T) {
	s, entered, leave := &served{}, make(chan struct{}), make(chan struct{})
	newBoundedServer(s).Register("/", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	}))
	const large = maxReviewBytes / 4
	answers := make(chan int)
	for range 4 {
		go func() { answers <- post(t.Context(), s.hook, large) }()
		<-entered
	}

	left, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Equal(t, http.StatusTooManyRequests, post(left, s.hook, large))
	go func() { answers <- post(t.Context(), s.hook, large) }()
	leave <- struct{}{}
	<-entered // the one that waited
	for range 4 {
		leave <- struct{}{}
	}
	for range 5 {
		expect.Equal(t, http.StatusOK, <-answers)
	}

	for name, size := range map[string]int64{"too large": maxReviewBytes + 1, "unknown": -1} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, http.StatusRequestEntityTooLarge, post(t.Context(), s.hook, size)) })
	}
}
