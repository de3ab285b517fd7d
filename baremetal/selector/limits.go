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

package selector

import (
	"fmt"
	"strings"
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits of what a claim may ask for. A tenant writes the selector, and comparing it
// with hosts takes time from all tenants, so its cost is bounded: the largest one takes about a
// microsecond for a host, of which each waiting claim costs as much when it becomes free.
const (
	// maxRequirements bounds matchLabels and matchExpressions together.
	maxRequirements = 32
	// maxValues bounds the values of all requirements together.
	maxValues = 128
	// maxKeyLength is what Kubernetes allows: a prefix, a slash and a name.
	maxKeyLength = validation.DNS1123SubdomainMaxLength + 1 + maxValueLength
	// maxValueLength is what Kubernetes allows.
	maxValueLength = validation.LabelValueMaxLength
	// maxOperatorLength is more than that of any operator.
	maxOperatorLength = 16
	// maxDomainLength is what Cluster API allows.
	maxDomainLength = 256
)

// tooMany reports a selector with more requirements or values than are looked at.
func tooMany(selector bmov1alpha1.HostSelector) error {
	requirements, values := len(selector.MatchLabels)+len(selector.MatchExpressions), len(selector.MatchLabels)
	for _, e := range selector.MatchExpressions {
		values += len(e.Values)
	}
	const field, remedy = "spec.hostSelector", "ask for a label that the hosts have in common"
	switch {
	case requirements > maxRequirements:
		return &InvalidError{Field: field, Problem: fmt.Sprintf(
			"it has %d requirements, matchLabels and matchExpressions together; at most %d are allowed: %s", requirements, maxRequirements, remedy)}
	case values > maxValues:
		return &InvalidError{Field: field, Problem: fmt.Sprintf(
			"it has %d values in all; at most %d are allowed: %s", values, maxValues, remedy)}
	}
	return nil
}

// tooLong says that a text exceeds its limit. The text itself is not repeated.
func tooLong(field, text string, limit int) error {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return nil
	}
	return &InvalidError{Field: field, Problem: fmt.Sprintf("it has %d characters; at most %d are allowed", n, limit)}
}

// oversizedLabel says which part of a label of matchLabels exceeds its limit.
func oversizedLabel(field, key, value string) error {
	if err := tooLong(field, key, maxKeyLength); err != nil {
		return err
	}
	return tooLong(field+"["+key+"]", value, maxValueLength)
}

// oversized says which part of an expression exceeds its limit.
func oversized(field string, e bmov1alpha1.HostSelectorRequirement) error {
	if err := tooLong(field+".key", e.Key, maxKeyLength); err != nil {
		return err
	}
	if err := tooLong(field+".operator", string(e.Operator), maxOperatorLength); err != nil {
		return err
	}
	for i, value := range e.Values {
		if err := tooLong(fmt.Sprintf("%s.values[%d]", field, i), value, maxValueLength); err != nil {
			return err
		}
	}
	return nil
}

// notNamespace says why a name can be that of no namespace; an empty one asks
// for none.
func notNamespace(name string) error {
	const field = "spec.hostSelector.inNamespace"
	if name == "" {
		return nil
	}
	if err := tooLong(field, name, validation.DNS1123LabelMaxLength); err != nil {
		return err
	}
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return &InvalidError{Field: field, Problem: fmt.Sprintf(
			"%q is no name of a namespace: %s", name, strings.Join(problems, "; "))}
	}
	return nil
}
