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
	"context"
	"net/http"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
)

// BoundRequestMetrics has the metric of requests, rest_client_requests_total, name no
// server but that of the config, and no status that HTTP does not know: tenants choose
// both, and could make up any number of series. It is called once, before requests are
// sent.
func BoundRequestMetrics(config *rest.Config) error {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	metrics.RequestResult = boundedResults{metrics.RequestResult, server.Host}
	return nil
}

// other stands for all servers of tenants, and for codes that are not known.
const other = "other"

type boundedResults struct {
	metrics.ResultMetric

	own string // host of the API server that the manager works in
}

// Increment counts a request.
func (b boundedResults) Increment(ctx context.Context, code, method, host string) {
	if host != b.own {
		host = other
	}
	if number, err := strconv.Atoi(code); err == nil && http.StatusText(number) == "" {
		code = other
	}
	b.ResultMetric.Increment(ctx, code, method, host)
}
