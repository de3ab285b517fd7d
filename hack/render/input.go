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

package main

import (
	"bufio"
	"bytes"
	"context"
	gojson "encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/templatecheck"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/crdschema"
)

// quote is the remedy where a word became a boolean.
const quote = ": YAML reads words such as yes, no, on and off as booleans: put the word in quotes"

// input is what the files hold.
type input struct {
	template      *infrav1.Metal3DataTemplate
	metal3Machine *infrav1.Metal3Machine
	machine       *clusterv1.Machine
	host          hardware.Host
	pools         []*ipamv1alpha1.IPPool
	index         int32
	byHostName    bool
}

// read reads the files, and joins the errors of all of them.
func (o options) read() (*input, error) {
	in := &input{
		template: &infrav1.Metal3DataTemplate{}, metal3Machine: &infrav1.Metal3Machine{}, machine: &clusterv1.Machine{},
		index: o.index, byHostName: o.byHostName,
	}
	err := errors.Join(in.readMachines(o.machine), in.readTemplate(o.template), in.readHost(o.hardware), in.readPools(o.pools))
	return in, err
}

// readMachines reads the Metal3Machine and its Machine.
func (in *input) readMachines(path string) error {
	machines, err := load(path)
	if err != nil {
		return err
	}
	err = machines.one(infrav1.GroupVersion.String(), "Metal3Machine", "", in.metal3Machine)
	if err == nil && (in.metal3Machine.Name == "" || in.metal3Machine.Namespace == "") {
		err = fmt.Errorf("%s: the Metal3Machine needs metadata.name and metadata.namespace: set both", path)
	}
	return errors.Join(err, in.readMachine(machines))
}

// readTemplate reads the template that the Metal3Machine names, and checks it as an
// API server would.
func (in *input) readTemplate(path string) error {
	templates, err := load(path)
	if err != nil {
		return err
	}
	var wanted string
	if ref := in.metal3Machine.Spec.DataTemplate; ref != nil {
		wanted = ref.Name
	}
	err = templates.one(infrav1.GroupVersion.String(), "Metal3DataTemplate", wanted, in.template)
	if in.template.Name == "" {
		in.template.Name = wanted
	}
	refused := checkTemplate(templates, in.template, err == nil)
	if mistype := (*gojson.UnmarshalTypeError)(nil); refused != nil && errors.As(err, &mistype) {
		return refused // which reports the same with the path of the field
	}
	return errors.Join(err, refused)
}

// checkTemplate returns an error if an API server would not take a template: by its schema
// and, if the template could be read, by the webhook of the manager.
func checkTemplate(from file, template *infrav1.Metal3DataTemplate, isRead bool) error {
	schema, err := crdschema.Load("metal3datatemplates")
	if err != nil {
		return err
	}
	for _, i := range from.items {
		var object map[string]any
		if i.Kind != "Metal3DataTemplate" || i.APIVersion != infrav1.GroupVersion.String() || i.Metadata.Name != template.Name {
			continue
		}
		if err := yaml.Unmarshal(i.text, &object); err != nil {
			return err
		}
		problems := hinted(schema.Check(context.Background(), object))
		if isRead && len(problems) == 0 {
			problems = templatecheck.Problems(template.Spec, field.NewPath("spec"))
		}
		if err := problems.ToAggregate(); err != nil {
			return fmt.Errorf("%s: the API server would not take Metal3DataTemplate %q: %w", from.path, template.Name, err)
		}
	}
	return nil
}

// hinted adds to each problem with a boolean that its word may want quotes.
func hinted(problems field.ErrorList) field.ErrorList {
	for _, problem := range problems {
		if problem.Type == field.ErrorTypeTypeInvalid && problem.BadValue == "boolean" {
			problem.Detail += quote
		}
	}
	return problems
}

// readMachine reads the Machine, or makes one up: Cluster API gives both machines
// one name.
func (in *input) readMachine(from file) error {
	in.machine.Name = in.metal3Machine.Name
	if !slices.ContainsFunc(from.items, func(i item) bool { return i.Kind == "Machine" }) {
		in.machine.Labels = in.metal3Machine.Labels
		return nil
	}
	return from.one(clusterv1.GroupVersion.String(), "Machine", "", in.machine)
}

// readHost reads the facts of the host: as published for a HostClaim, or as the
// inspection made them, where name and namespace are those of the host.
func (in *input) readHost(path string) error {
	from, err := load(path)
	if err != nil {
		return err
	}
	data := &bmov1alpha1.HardwareData{}
	if err := from.one(bmov1alpha1.GroupVersion.String(), "HardwareData", "", data); err != nil {
		return err
	}
	in.host = hardware.FromHardwareData(data)
	if in.host.Name == "" {
		in.host.Name, in.host.Namespace = data.Name, data.Namespace
	}
	return nil
}

func (in *input) readPools(path string) error {
	if path == "" {
		return nil
	}
	pools, err := load(path)
	if err != nil {
		return err
	}
	for _, item := range pools.items {
		pool := &ipamv1alpha1.IPPool{}
		if err := item.into(ipamv1alpha1.GroupVersion.String(), "IPPool", pool); err != nil {
			return err
		}
		in.pools = append(in.pools, pool)
	}
	return nil
}

// data is the Metal3Data that the machine would get.
func (in *input) data() *infrav1.Metal3Data {
	return &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.metal3Machine.Namespace, Name: fmt.Sprintf("%s-%d", in.template.Name, in.index)},
		Spec:       infrav1.Metal3DataSpec{Index: &in.index},
	}
}

func (in *input) facts() metadata.Facts {
	return metadata.NewFacts(in.data(), in.machine, in.metal3Machine, in.host)
}

// request is the object on whose behalf pools would be asked.
func (in *input) request() ippool.Request {
	holder := in.data().Name
	if in.byHostName {
		holder = in.host.Name
	}
	return ippool.Request{Data: in.data(), Holder: holder}
}

// file is a file with manifests.
type file struct {
	path  string
	items []item
}

// item is one manifest.
type item struct {
	path string
	metav1.TypeMeta
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	text []byte
}

// load reads the manifests of a file.
func load(path string) (file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	read := file{path: path}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err == nil {
			err = read.add(doc)
		}
		if err != nil {
			return file{}, fmt.Errorf("%s: %w: correct the YAML", path, err)
		}
	}
}

// add adds a manifest, or those of a list as kubectl prints it.
func (f *file) add(text []byte) error {
	one := item{path: f.path, text: text}
	if err := yaml.Unmarshal(text, &one); err != nil {
		return err
	}
	if !strings.HasSuffix(one.Kind, "List") {
		if one.Kind != "" {
			f.items = append(f.items, one)
		}
		return nil
	}
	var list struct {
		Items []gojson.RawMessage `json:"items"`
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, text := range list.Items {
		if err := f.add(text); err != nil {
			return err
		}
	}
	return nil
}

// one reads the manifest of a kind, and of a name unless that is empty.
func (f file) one(version, kind, name string, into runtime.Object) error {
	var found []item
	var others []string
	for _, i := range f.items {
		if i.Kind == kind && (name == "" || i.Metadata.Name == name) {
			found = append(found, i)
		}
		others = append(others, fmt.Sprintf("%s %q", i.Kind, i.Metadata.Name))
	}
	wanted := strings.TrimSpace(kind + " " + name)
	switch len(found) {
	case 0:
		if len(others) == 0 {
			return fmt.Errorf("%s: there is no manifest in it, and %s is wanted: name another file", f.path, wanted)
		}
		return fmt.Errorf("%s: there is no %s in it, only %s: name another file", f.path, wanted, strings.Join(others, ", "))
	case 1:
		return found[0].into(version, kind, into)
	}
	remedy := "leave one"
	if kind == "Metal3DataTemplate" {
		remedy = "leave one, or name one in spec.dataTemplate of the Metal3Machine"
	}
	return fmt.Errorf("%s: there are %d of %s in it: %s", f.path, len(found), wanted, remedy)
}

// into reads a manifest, every field of it. Fields of HardwareData that are not known
// are of no use to a template.
func (i item) into(version, kind string, into runtime.Object) error {
	if i.Kind != kind || i.APIVersion != version {
		return fmt.Errorf("%s: %s of %s is not read: write it as %s of %s", i.path, i.Kind, i.APIVersion, kind, version)
	}
	scheme := runtime.NewScheme()
	err := errors.Join(infrav1.AddToScheme(scheme), bmov1alpha1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), ipamv1alpha1.AddToScheme(scheme))
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	if err == nil {
		_, _, err = decoder.Decode(i.text, nil, into)
	}
	if kind == "HardwareData" && runtime.IsStrictDecodingError(err) {
		err = nil // written by a baremetal-operator that knows more fields
	}
	if err == nil {
		return nil
	}
	remedy := ": correct the field"
	if mistype := (*gojson.UnmarshalTypeError)(nil); errors.As(err, &mistype) && mistype.Value == "bool" {
		remedy = quote
	}
	return fmt.Errorf("%s: %s %q: %w%s", i.path, i.Kind, i.Metadata.Name, err, remedy)
}
