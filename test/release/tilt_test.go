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

package release

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	starlarkjson "go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

// tilt notes what the Tiltfile asks of Tilt. A function that it has not is an error, as is an argument.
type tilt struct {
	repo      components.Repo
	env       map[string]string
	compiled  map[string]string   // program that a local_resource writes, by the name of that resource
	deps      []string            // of all local resources
	images    map[string][]string // entrypoint, by image
	synced    map[string]string   // path on this machine by path in the container
	resources map[string][]string // what a k8s_resource waits for
	objects   []*unstructured.Unstructured
}

// TestTiltfile runs the Tiltfile by the interpreter of Starlark that Tilt has, with functions that note what
// they are called with, and kustomize for what it renders.
func TestTiltfile(t *testing.T) {
	t.Run("beside baremetal-operator", func(t *testing.T) { runTiltfile(t, nil, 2) })
	t.Run("beside KubeVirt too", func(t *testing.T) { runTiltfile(t, map[string]string{"TILT_KUBEVIRT": "true"}, 3) })
}

func runTiltfile(t *testing.T, env map[string]string, managers int) {
	t.Helper()
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	tt := &tilt{
		repo: repo, env: env, compiled: map[string]string{}, images: map[string][]string{},
		synced: map[string]string{}, resources: map[string][]string{},
	}
	thread := &starlark.Thread{Name: "Tiltfile", Load: tt.load}
	options := &syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}
	if _, err := starlark.ExecFileOptions(options, thread, repo.Path("Tiltfile"), nil, tt.builtins()); err != nil {
		t.Fatal(err)
	}
	for _, path := range tt.deps {
		if _, err := os.Stat(repo.Path(path)); err != nil {
			t.Errorf("it watches what is not there: %v", err)
		}
	}
	found := deployments(t, tt.objects)
	if len(found) != managers || len(tt.images) != managers || len(tt.resources) != managers {
		t.Errorf("%d Deployments, %d images, %d resources", len(found), len(tt.images), len(tt.resources))
	}
	for name, waits := range tt.resources {
		deployment := found[name]
		if deployment == nil {
			t.Errorf("no Deployment %s", name)
			continue
		}
		manager := deployment.Spec.Template.Spec.Containers[0]
		image, _, _ := strings.Cut(manager.Image, ":")
		entrypoint := tt.images[image]
		if len(entrypoint) != 1 || filepath.Base(entrypoint[0]) != filepath.Base(manager.Command[0]) {
			t.Errorf("image %s of %s runs %v in place of %v", image, name, entrypoint, manager.Command)
			continue
		}
		want := []string{filepath.Base(entrypoint[0])}
		if diff := cmp.Diff(want, waits); diff != "" || tt.compiled[want[0]] != tt.synced[entrypoint[0]] {
			t.Errorf("%s waits for %v, which write %v and not %s", name, waits, tt.compiled, tt.synced[entrypoint[0]])
		}
		if *deployment.Spec.Replicas != 1 || *manager.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("the program of %s cannot be replaced", name)
		}
	}
}

// TestTiltProvider holds the file that the Tilt set-up of Cluster API reads to what it names.
func TestTiltProvider(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := os.ReadFile(repo.Path("tilt-provider.json"))
	if err != nil {
		t.Fatal(err)
	}
	var providers []struct {
		Name   string `json:"name"`
		Config struct {
			Image           string   `json:"image"`
			KustomizeFolder string   `json:"kustomize_folder"`
			GoMain          string   `json:"go_main"`
			LiveReloadDeps  []string `json:"live_reload_deps"`
			Label           string   `json:"label"`
			ManagerName     string   `json:"manager_name"`
		} `json:"config"`
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&providers); err != nil || len(providers) != 3 {
		t.Fatalf("%d providers, %v", len(providers), err)
	}
	for _, provider := range providers {
		config := provider.Config
		for _, path := range append(config.LiveReloadDeps, or(config.GoMain, "main.go")) {
			if _, err := os.Stat(repo.Path(path)); err != nil {
				t.Errorf("%s: %v", provider.Name, err)
			}
		}
		objects, err := manifests.Render(repo.Path(or(config.KustomizeFolder, "config/default")), nil)
		if err != nil {
			t.Fatal(err)
		}
		image := ""
		if deployment := deployments(t, objects)[config.ManagerName]; deployment != nil {
			image, _, _ = strings.Cut(deployment.Spec.Template.Spec.Containers[0].Image, ":")
		}
		if image != config.Image {
			t.Errorf("%s: %s runs image %q, want %s", provider.Name, config.ManagerName, image, config.Image)
		}
	}
}

// or returns a setting, or what Cluster API takes if it is not there.
func or(setting, standard string) string {
	if setting == "" {
		return standard
	}
	return setting
}

// deployments returns the Deployments among objects, by name.
func deployments(t *testing.T, objects []*unstructured.Unstructured) map[string]*appsv1.Deployment {
	t.Helper()
	found := map[string]*appsv1.Deployment{}
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			deployment := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
				t.Fatal(err)
			}
			found[deployment.Name] = deployment
		}
	}
	return found
}

// function makes a builtin of what takes these arguments; a name with ? is optional.
func function(name string, do func(args map[string]starlark.Value) (starlark.Value, error), params ...string) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		values := make([]starlark.Value, len(params))
		pairs := make([]any, 0, 2*len(params))
		for i, param := range params {
			pairs = append(pairs, param, &values[i])
		}
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, pairs...); err != nil {
			return nil, err
		}
		given := map[string]starlark.Value{}
		for i, param := range params {
			given[strings.TrimSuffix(param, "?")] = values[i]
		}
		return do(given)
	})
}

// text is the value of a string, empty for any other.
func text(v starlark.Value) string {
	s, _ := starlark.AsString(v)
	return s
}

func list(v starlark.Value) []string {
	var values []string
	if items, ok := v.(starlark.Iterable); ok {
		for item := range starlark.Elements(items) {
			values = append(values, text(item))
		}
	}
	return values
}

func (tt *tilt) load(_ *starlark.Thread, module string) (starlark.StringDict, error) {
	if module != "ext://restart_process" {
		return nil, os.ErrNotExist
	}
	return starlark.StringDict{
		"docker_build_with_restart": function("docker_build_with_restart", func(args map[string]starlark.Value) (starlark.Value, error) {
			tt.images[text(args["ref"])] = list(args["entrypoint"])
			return starlark.None, nil
		}, "ref", "context", "entrypoint", "dockerfile_contents", "only", "live_update"),
	}, nil
}

// builtins are the functions of Tilt that the Tiltfile calls.
func (tt *tilt) builtins() starlark.StringDict {
	none := func(map[string]starlark.Value) (starlark.Value, error) { return starlark.None, nil }
	functions := []*starlark.Builtin{
		function("allow_k8s_contexts", none, "contexts"),
		function("local_resource", func(args map[string]starlark.Value) (starlark.Value, error) {
			words := strings.Fields(text(args["cmd"]))
			if o := slices.Index(words, "-o"); o >= 0 {
				tt.compiled[text(args["name"])] = words[o+1]
				tt.deps = append(tt.deps, words[len(words)-1])
			}
			tt.deps = append(tt.deps, list(args["deps"])...)
			return starlark.None, nil
		}, "name", "cmd", "deps", "labels?"),
		function("sync", func(args map[string]starlark.Value) (starlark.Value, error) {
			tt.synced[text(args["remote_path"])] = text(args["local_path"])
			return starlark.None, nil
		}, "local_path", "remote_path"),
		function("local", func(args map[string]starlark.Value) (starlark.Value, error) {
			return starlark.String(strings.Fields(text(args["command"]))[2]), nil // the folder, for decode_yaml_stream
		}, "command", "quiet?"),
		function("decode_yaml_stream", tt.decode, "yaml"),
		function("encode_yaml_stream", func(args map[string]starlark.Value) (starlark.Value, error) { return args["objects"], nil }, "objects"),
		function("k8s_yaml", tt.apply, "yaml"),
		function("k8s_resource", func(args map[string]starlark.Value) (starlark.Value, error) {
			tt.resources[text(args["workload"])] = list(args["resource_deps"])
			return starlark.None, nil
		}, "workload", "resource_deps?", "labels?"),
	}
	all := starlark.StringDict{"os": &starlarkstruct.Module{Name: "os", Members: starlark.StringDict{
		"getenv": function("getenv", func(args map[string]starlark.Value) (starlark.Value, error) {
			if value, found := tt.env[text(args["key"])]; found {
				return starlark.String(value), nil
			}
			return args["default"], nil
		}, "key", "default"),
	}}}
	for _, f := range functions {
		all[f.Name()] = f
	}
	return all
}

// decode renders the folder that local was called with.
func (tt *tilt) decode(args map[string]starlark.Value) (starlark.Value, error) {
	objects, err := manifests.Render(tt.repo.Path(text(args["yaml"])), nil)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(objects)
	if err != nil {
		return nil, err
	}
	return starlark.Call(&starlark.Thread{}, starlarkjson.Module.Members["decode"], starlark.Tuple{starlark.String(encoded)}, nil)
}

// apply notes the objects that Tilt would create.
func (tt *tilt) apply(args map[string]starlark.Value) (starlark.Value, error) {
	encoded, err := starlark.Call(&starlark.Thread{}, starlarkjson.Module.Members["encode"], starlark.Tuple{args["yaml"]}, nil)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	if err := json.Unmarshal([]byte(text(encoded)), &objects); err != nil {
		return nil, err
	}
	tt.objects = append(tt.objects, objects...)
	return starlark.None, nil
}
