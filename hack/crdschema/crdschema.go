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

package crdschema

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/config"
)

// Schema is what the API server checks of objects of one kind.
type Schema struct {
	structural *structuralschema.Structural
	shape      validation.SchemaValidator
	rules      *cel.Validator
}

// Load reads the schema of a kind of this provider, by its plural.
func Load(plural string) (*Schema, error) {
	text, err := config.CRDs.ReadFile("crd/bases/" + infrav1.GroupName + "_" + plural + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no CRD of %s: %w", plural, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		return nil, fmt.Errorf("read the CRD of %s: %w", plural, err)
	}
	for _, version := range crd.Spec.Versions {
		if version.Name == infrav1.GroupVersion.Version {
			return compile(version.Schema)
		}
	}
	return nil, fmt.Errorf("the CRD of %s has no version %s", plural, infrav1.GroupVersion.Version)
}

func compile(schema *apiextensionsv1.CustomResourceValidation) (*Schema, error) {
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(schema, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	shape, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return &Schema{structural: structural, shape: shape, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Check returns the errors for which an API server would not create the object. It first fills in
// defaults, in the object itself. As in an API server, rules are evaluated only if the shape is right.
func (s *Schema) Check(ctx context.Context, object map[string]any) field.ErrorList {
	defaulting.Default(object, s.structural)
	problems := validation.ValidateCustomResource(nil, object, s.shape)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(problems) > 0 || s.rules == nil {
		return problems
	}
	problems, _ = s.rules.Validate(ctx, nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return problems
}
