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

// Package rules are those by which the webhooks of baremetal-operator 0.14 judge claims and hosts, as far as
// claims and what managers of claims write on hosts depend on them. They are written anew from its documented
// behavior, since no release with them can be built here.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"
)

// Claim returns why a claim is refused, when it is created and at each update; nil if it is not.
func Claim(claim *bmov1alpha1.HostClaim) error {
	faults := []error{reboots(claim.Annotations), image(claim.Spec.Image)}
	for key, value := range claim.Spec.HostSelector.MatchLabels {
		_, err := labels.NewRequirement(key, operators.Equals, []string{value})
		faults = append(faults, err)
	}
	for _, r := range claim.Spec.HostSelector.MatchExpressions {
		faults = append(faults, expression(r))
	}
	return errors.Join(faults...)
}

// Host returns why a host is refused, when it is created and at each update; nil if it is not.
func Host(host *bmov1alpha1.BareMetalHost) error {
	return errors.Join(reboots(host.Annotations), image(host.Spec.Image))
}

// expression takes operators in their exact spelling, and none that compares numbers.
func expression(r bmov1alpha1.HostSelectorRequirement) error {
	switch r.Operator {
	case operators.In, operators.NotIn, operators.Exists, operators.DoesNotExist,
		operators.Equals, operators.DoubleEquals, operators.NotEquals:
		_, err := labels.NewRequirement(r.Key, r.Operator, r.Values)
		return err
	default:
		return fmt.Errorf("operator %q is not valid", r.Operator)
	}
}

func image(i *bmov1alpha1.Image) error {
	if i == nil {
		return nil
	}
	source, err := url.ParseRequestURI(i.URL)
	if err != nil {
		return fmt.Errorf("image URL is invalid: %w", err)
	}
	if !slices.Contains([]string{"http", "https", "ftp", "gopher", "oci"}, source.Scheme) {
		return fmt.Errorf("scheme %q of the image URL is not supported", source.Scheme)
	}
	sum, _, err := i.GetChecksum()
	if err == nil && (strings.HasPrefix(sum, "http://") || strings.HasPrefix(sum, "https://")) {
		_, err = url.ParseRequestURI(sum)
	}
	return err
}

func reboots(annotations map[string]string) error {
	var faults []error
	for key, value := range annotations {
		if key != bmov1alpha1.RebootAnnotationPrefix && !strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix+"/") || value == "" {
			continue
		}
		arguments := bmov1alpha1.RebootAnnotationArguments{}
		err := json.Unmarshal([]byte(value), &arguments)
		if err == nil && !slices.Contains([]bmov1alpha1.RebootMode{"", bmov1alpha1.RebootModeHard, bmov1alpha1.RebootModeSoft}, arguments.Mode) {
			err = fmt.Errorf("mode %q of the reboot is not known", arguments.Mode)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
