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

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Memory is a Backend without a server.
type Memory struct {
	log     *Log
	clock   clock.PassiveClock
	version int
	uids    int
}

var _ Backend = &Memory{}

var (
	errVersionGiven   = errors.New("resourceVersion should not be set on objects to be created")
	errObjectModified = errors.New("the object has been modified; please apply your changes to the latest version")
	errPrecondition   = errors.New("a precondition does not hold")
)

// NewMemory returns a server that writes to a log.
func NewMemory(log *Log, clock clock.PassiveClock) *Memory {
	return &Memory{log: log, clock: clock}
}

// Get returns an object.
func (m *Memory) Get(_ context.Context, kind Kind, key client.ObjectKey) (*Version, error) {
	v, found := m.log.Current(kind, key)
	if !found {
		return nil, apierrors.NewNotFound(kind.resource(), key.Name)
	}
	return v, nil
}

// List returns one page. Pages show the present, which an API server does only
// for the first one; nothing in the model depends on that.
func (m *Memory) List(_ context.Context, kind Kind, query Query) (Page, error) {
	var page Page
	for _, v := range m.log.All(kind) {
		name := v.Key.String()
		if !query.matches(v) || (query.Continue != "" && name <= query.Continue) {
			continue
		}
		if query.Limit > 0 && int64(len(page.Items)) == query.Limit {
			page.Continue = page.Items[len(page.Items)-1].Key.String()
			break
		}
		page.Items = append(page.Items, v)
	}
	return page, nil
}

// Create adds an object.
func (m *Memory) Create(_ context.Context, kind Kind, object map[string]any, _ string) (*Version, error) {
	object, meta := withMetadata(object)
	given := newVersion(kind, object)
	switch _, found := m.log.Current(kind, given.Key); {
	case given.RV != "":
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: errVersionGiven.Error(),
		}}
	case found:
		return nil, apierrors.NewAlreadyExists(kind.resource(), given.Key.Name)
	}
	for _, key := range []string{"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		delete(meta, key)
	}
	m.uids++
	meta["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", m.uids)
	meta["creationTimestamp"] = m.clock.Now().UTC().Format(time.RFC3339)
	if kind.counted() {
		meta["generation"] = int64(1)
	}
	if kind.withStatus() {
		delete(object, "status")
	}
	complete(kind, object, meta)
	return m.put(kind, object, meta, nil), nil
}

// Patch applies a merge patch to an object or to its status.
func (m *Memory) Patch(ctx context.Context, change Change) (*Version, error) {
	current, err := m.Get(ctx, change.Kind, change.Key)
	if err != nil {
		return nil, err
	}
	var patch map[string]any
	if err := json.Unmarshal(change.Patch, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	patched := merge(current.JSON, patch)
	if err := m.acceptable(current, patched); err != nil {
		return nil, err
	}
	if change.Subresource == "status" {
		return m.patchStatus(current, patched, change.Manager), nil
	}
	return m.patchMain(current, patched)
}

// acceptable checks what a patch demands of the version and identity of the object.
func (m *Memory) acceptable(current *Version, patched map[string]any) error {
	meta := metadata(patched)
	if version := text(meta, "resourceVersion"); version != "" && version != current.RV {
		return apierrors.NewConflict(current.Kind.resource(), current.Key.Name, errObjectModified)
	}
	former := metadata(current.JSON)
	immutable := func(key string) bool { return text(meta, key) != "" && text(meta, key) != text(former, key) }
	if immutable("uid") || (!current.Deleting() && immutable("deletionTimestamp")) ||
		(current.Deleting() && len(added(finalizers(former), finalizers(meta))) > 0) {
		return apierrors.NewInvalid(current.Kind.gvk().GroupKind(), current.Key.Name, nil)
	}
	return nil
}

// patchMain changes everything but the status.
func (m *Memory) patchMain(current *Version, patched map[string]any) (*Version, error) {
	patched, meta := withMetadata(patched)
	former := metadata(current.JSON)
	for _, key := range []string{
		"namespace", "name", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"generation", "managedFields", "resourceVersion",
	} {
		restore(meta, former, key)
	}
	if current.Kind.withStatus() {
		restore(patched, current.JSON, "status")
	}
	complete(current.Kind, patched, meta)
	if reflect.DeepEqual(patched, current.JSON) {
		return current, nil
	}
	if current.Kind.counted() && !reflect.DeepEqual(body(patched), body(current.JSON)) {
		meta["generation"] = generation(meta) + 1
	}
	if current.Deleting() && len(finalizers(meta)) == 0 {
		last := newVersion(current.Kind, patched)
		m.log.record(current.Kind, current.Key, nil)
		return last, nil
	}
	return m.put(current.Kind, patched, meta, current.owners), nil
}

// patchStatus changes nothing but the status.
func (m *Memory) patchStatus(current *Version, patched map[string]any, manager string) *Version {
	object, meta := withMetadata(current.JSON)
	restore(object, patched, "status")
	if reflect.DeepEqual(object, current.JSON) {
		return current
	}
	owned := current.owners.after(manager, current.JSON["status"], object["status"])
	delete(meta, "managedFields")
	if entries := owned.entries(current.Kind); current.Kind == Claims && len(entries) > 0 {
		meta["managedFields"] = entries
	}
	return m.put(current.Kind, object, meta, owned)
}

// Delete removes an object, or marks it if finalizers hold it.
func (m *Memory) Delete(ctx context.Context, kind Kind, key client.ObjectKey, conditions client.Preconditions) error {
	current, err := m.Get(ctx, kind, key)
	if err != nil {
		return err
	}
	if (conditions.UID != nil && *conditions.UID != current.UID) ||
		(conditions.ResourceVersion != nil && *conditions.ResourceVersion != current.RV) {
		return apierrors.NewConflict(kind.resource(), key.Name, errPrecondition)
	}
	object, meta := withMetadata(current.JSON)
	switch {
	case len(finalizers(meta)) == 0:
		m.log.record(kind, key, nil)
	case !current.Deleting():
		meta["deletionTimestamp"] = m.clock.Now().UTC().Format(time.RFC3339)
		meta["deletionGracePeriodSeconds"] = int64(0)
		if kind.counted() {
			meta["generation"] = generation(meta) + 1
		}
		m.put(kind, object, meta, current.owners)
	}
	return nil
}

// BeginDelete begins to remove an object as kube-apiserver does: whether finalizers hold it is
// decided on what was read at first, and nothing of that is a precondition of the end. So a
// finalizer that is written in between is answered, and lost, and so is a namesake.
func (m *Memory) BeginDelete(ctx context.Context, kind Kind, key client.ObjectKey) (end func() error, err error) {
	read, err := m.Get(ctx, kind, key)
	if err != nil {
		return nil, err
	}
	return func() error {
		if len(finalizers(metadata(read.JSON))) > 0 {
			return m.Delete(ctx, kind, key, client.Preconditions{})
		}
		_, err := m.Get(ctx, kind, key)
		if err == nil {
			m.log.record(kind, key, nil)
		}
		return err
	}, nil
}

// put stores an object under a new version.
func (m *Memory) put(kind Kind, object, meta map[string]any, owned owners) *Version {
	m.version++
	meta["resourceVersion"] = strconv.Itoa(m.version)
	v := newVersion(kind, object)
	v.owners = owned
	m.log.record(kind, v.Key, v)
	return v
}

// complete sets what the API server sets by itself.
func complete(kind Kind, object, meta map[string]any) {
	object["kind"], object["apiVersion"] = string(kind), kind.gvk().GroupVersion().String()
	for _, key := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if empty(meta[key]) {
			delete(meta, key)
		}
	}
	switch kind {
	case Hosts:
		spec, _ := object["spec"].(map[string]any)
		spec = maps.Clone(spec)
		if spec == nil {
			spec = map[string]any{}
		}
		if _, found := spec["automatedCleaningMode"]; !found {
			spec["automatedCleaningMode"] = "metadata"
		}
		object["spec"] = spec
	case Secrets:
		if text(object, "type") == "" {
			object["type"] = "Opaque"
		}
	case Namespaces:
		named, _ := meta["labels"].(map[string]any)
		meta["labels"] = merge(named, map[string]any{"kubernetes.io/metadata.name": meta["name"]})
	}
}

// empty reports whether a value is absent, null or holds nothing.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return false
	}
}

// body is an object without metadata and status: what generations count.
func body(object map[string]any) map[string]any {
	out := maps.Clone(object)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

func restore(object, former map[string]any, key string) {
	if value, found := former[key]; found {
		object[key] = value
		return
	}
	delete(object, key)
}

func generation(meta map[string]any) int64 {
	n, _ := meta["generation"].(int64)
	return n
}

func finalizers(meta map[string]any) []any {
	list, _ := meta["finalizers"].([]any)
	return list
}

// added returns what is in a list now and was not before.
func added(before, now []any) []any {
	var out []any
	for _, name := range now {
		if !slices.Contains(before, name) {
			out = append(out, name)
		}
	}
	return out
}
