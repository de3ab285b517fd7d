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
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// boundRequestMetrics has the metric of requests, rest_client_requests_total, name no
// server but that of the config, and no status that HTTP does not know: tenants choose
// both, and could make up any number of series. It is called once, before requests are
// sent.
func boundRequestMetrics(config *rest.Config) error {
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

// CountRights asks which of the rules the account of a client has in all namespaces, though the
// hardened install gives them in single ones, logs those, and registers a gauge of that name with how
// many verbs they are. It asks once: another form of the install starts the manager
// anew. What the API server does not answer is logged, and leaves the gauge at 0.
func CountRights(ctx context.Context, c client.Client, registry prometheus.Registerer, name string, rules ...rbacv1.PolicyRule) error {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: name, Help: "Verbs that the account has in all namespaces and the hardened install gives in single ones.",
	})
	if err := registry.Register(gauge); err != nil {
		return fmt.Errorf("register the metric of rights: %w", err)
	}
	log := ctrl.LoggerFrom(ctx)
	held, err := heldEverywhere(ctx, c, rules)
	if err != nil {
		log.Error(err, "Whether this account has rights in all namespaces is not known")
		return nil
	}
	gauge.Set(float64(len(held)))
	if len(held) > 0 {
		log.Info("This account has rights in all namespaces, as the default install gives them and the hardened one does not",
			"rights", held, "bindings", "kubectl get clusterrolebindings -o wide")
	}
	return nil
}

// heldEverywhere names verb and resource of each rule that the account has in all namespaces.
func heldEverywhere(ctx context.Context, c client.Client, rules []rbacv1.PolicyRule) ([]string, error) {
	var held []string
	for _, rule := range rules {
		resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
		for _, verb := range rule.Verbs {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: verb, Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
				},
			}}
			if err := c.Create(ctx, review); err != nil {
				return nil, err
			}
			if review.Status.Allowed {
				held = append(held, verb+" "+rule.Resources[0])
			}
		}
	}
	return held, nil
}
