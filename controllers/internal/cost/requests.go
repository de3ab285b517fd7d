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

package cost

import (
	"context"
	"net/http"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// namespaceKey is the key of the context for the namespace that requests are made for.
type namespaceKey struct{}

// Attribute returns a reconciler whose requests count for the namespace of the object that
// it works on, whatever they are about: a claim pays for the reads of the hosts that it
// looks at.
func Attribute(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		return r.Reconcile(context.WithValue(ctx, namespaceKey{}, request.Namespace), request)
	})
}

// Transport counts the requests that pass through next. Those of no reconciler, such as
// watches and events, count for the namespace that their path names.
func (m *Meter) Transport(next http.RoundTripper) http.RoundTripper {
	return transport{meter: m, next: next}
}

type transport struct {
	meter *Meter
	next  http.RoundTripper
}

// RoundTrip counts a request and sends it.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.meter.Add(namespaceOf(request), 1)
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the connection below.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func namespaceOf(request *http.Request) string {
	if namespace, found := request.Context().Value(namespaceKey{}).(string); found {
		return namespace
	}
	_, path, _ := strings.Cut(request.URL.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(path, "/")
	return namespace
}
