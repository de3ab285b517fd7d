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

package site

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// Sample is one line of a metrics page.
type Sample struct {
	Labels map[string]string
	Value  float64
}

var (
	sampleLine  = regexp.MustCompile(`^([a-z_]+)\{(.*)\} (\S+)$`)
	sampleLabel = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

// scrape reads the samples of one metric from a metrics page.
func scrape(ctx context.Context, c *http.Client, url, name string) ([]Sample, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read %s: %s", url, response.Status)
	}
	var out []Sample
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		parts := sampleLine.FindStringSubmatch(lines.Text())
		if parts == nil || parts[1] != name {
			continue
		}
		value, err := strconv.ParseFloat(parts[3], 64)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
		sample := Sample{Labels: map[string]string{}, Value: value}
		for _, label := range sampleLabel.FindAllStringSubmatch(parts[2], -1) {
			sample.Labels[label[1]] = label[2]
		}
		out = append(out, sample)
	}
	return out, lines.Err()
}

// Requests counts the requests that the API server has answered by verb, resource
// and what became of them: "PATCH hostclaims/status", "GET secrets (403)". Watches
// and what is not of Metal3, its secrets and its namespaces are left out, and so are
// the requests by which this process makes claims, and hostsim writes status.
func (s *Site) Requests(ctx context.Context) (map[string]float64, error) {
	samples, err := s.answered(ctx)
	out := map[string]float64{}
	for _, sample := range samples {
		if name := requestName(sample.Labels); name != "" && !ours[strings.TrimSuffix(name, " (409)")] {
			out[name] += sample.Value
		}
	}
	return out, err
}

// total is how many requests of whomever were answered that Requests could count.
func (s *Site) total(ctx context.Context) (float64, error) {
	samples, err := s.answered(ctx)
	var sum float64
	for _, sample := range samples {
		if requestName(sample.Labels) != "" {
			sum += sample.Value
		}
	}
	return sum, err
}

func (s *Site) answered(ctx context.Context) ([]Sample, error) {
	c, err := rest.HTTPClientFor(s.Server.Config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(s.Server.Config)
	if err != nil {
		return nil, err
	}
	return scrape(ctx, c, base.JoinPath("metrics").String(), "apiserver_request_total")
}

// counted are the resources whose requests are the business of claims.
var counted = map[string]bool{
	"hostclaims": true, "baremetalhosts": true, "hostdeploypolicies": true, "hardwaredata": true,
	"secrets": true, "namespaces": true, "events": true,
}

// ours are the requests of the benchmark itself.
var ours = map[string]bool{"POST hostclaims": true, "DELETE hostclaims": true, "PATCH baremetalhosts/status": true}

func requestName(labels map[string]string) string {
	resource := labels["resource"]
	if !counted[resource] || labels["verb"] == "WATCH" {
		return ""
	}
	if sub := labels["subresource"]; sub != "" {
		resource += "/" + sub
	}
	name := labels["verb"] + " " + resource
	if code := labels["code"]; code >= "300" {
		name += " (" + code + ")"
	}
	return name
}
