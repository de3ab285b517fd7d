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

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// Answer is what a server answered to one request.
type Answer struct {
	// Request is what was asked, and Sort the kind of that request, for
	// example "patch HostClaim/status".
	Request, Sort string
	// Outcome is "ok" or the reason of the error, Object what it is about, as it
	// was afterwards; "gone" if it is not there.
	Outcome, Object string
}

// player carries out requests one after the other.
type player struct {
	ctx     context.Context //nolint:containedctx // As long as one list of requests.
	backend store.Backend
	// namespace is that of all objects, and stands for itself in answers.
	namespace string
	// manager is who writes.
	manager string
	answers []Answer
}

// Play carries out all requests in one namespace, which it creates.
func Play(ctx context.Context, backend store.Backend, namespace string) []Answer {
	p := &player{ctx: ctx, backend: backend, namespace: namespace, manager: "client"}
	for _, chapter := range []func(*player){
		namespaces, claims, locks, statuses, finalizers, deletions, hosts, policies, classes, hardware, secrets, lists,
	} {
		chapter(p)
	}
	return p.answers
}

// asked is one request as far as its answer is written down.
type asked struct {
	what, verb string
	kind       store.Kind
	sub        string
	key        client.ObjectKey
}

// note writes down an answer and the object afterwards.
func (p *player) note(request asked, err error) {
	sort := request.verb + " " + string(request.kind)
	if request.sub != "" {
		sort += "/" + request.sub
	}
	a := Answer{Request: request.what, Sort: sort, Outcome: "ok", Object: "gone"}
	if err != nil {
		a.Outcome = string(apierrors.ReasonForError(err))
	}
	if v, err := p.backend.Get(p.ctx, request.kind, request.key); err == nil {
		a.Object = p.plain(v)
	}
	p.answers = append(p.answers, a)
}

func (p *player) key(kind store.Kind, name string) client.ObjectKey {
	if kind == store.Namespaces || kind == store.Classes { // which stand in no namespace
		return client.ObjectKey{Name: p.namespace}
	}
	return client.ObjectKey{Namespace: p.namespace, Name: name}
}

// create asks for a new object, given as JSON without name and namespace.
func (p *player) create(what string, kind store.Kind, name, body string) {
	object := map[string]any{}
	p.decode(body, &object)
	meta, _ := object["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	key := p.key(kind, name)
	meta["name"] = key.Name
	if key.Namespace != "" {
		meta["namespace"] = key.Namespace
	}
	object["metadata"] = meta
	_, err := p.backend.Create(p.ctx, kind, object, p.manager)
	p.note(asked{what, "create", kind, "", key}, err)
}

// patch asks for a change. The text VERSION in it stands for the version that the
// object has, UID for its identity.
func (p *player) patch(what string, kind store.Kind, name, sub, body string) {
	key := p.key(kind, name)
	if v, err := p.backend.Get(p.ctx, kind, key); err == nil {
		body = strings.NewReplacer("VERSION", v.RV, "UID", string(v.UID)).Replace(body)
	}
	_, err := p.backend.Patch(p.ctx, store.Change{
		Kind: kind, Key: key, Subresource: sub, Patch: []byte(body), Manager: p.manager,
	})
	p.note(asked{what, "patch", kind, sub, key}, err)
}

// patchStatus asks a manager of fields for a change of the status of the claim.
func (p *player) patchStatus(manager, what, body string) {
	before := p.manager
	p.manager = manager
	p.patch(what, store.Claims, "claim", "status", body)
	p.manager = before
}

// remove asks for the end of an object, on conditions of the identity and version
// given, where VERSION and UID stand for the real ones.
func (p *player) remove(what string, kind store.Kind, name, uid, version string) {
	key := p.key(kind, name)
	var conditions client.Preconditions
	v, err := p.backend.Get(p.ctx, kind, key)
	if uid == "UID" && err == nil {
		uid = string(v.UID)
	}
	if version == "VERSION" && err == nil {
		version = v.RV
	}
	if uid != "" {
		conditions.UID = (*types.UID)(&uid)
	}
	if version != "" {
		conditions.ResourceVersion = &version
	}
	p.note(asked{what, "delete", kind, "", key}, p.backend.Delete(p.ctx, kind, key, conditions))
}

// removeAround asks for the end of the claim of chapter deletions, and for what else is asked between
// what the server reads for that and what it does.
func (p *player) removeAround(what string, between func()) {
	key := p.key(store.Claims, brief)
	end, err := p.backend.BeginDelete(p.ctx, store.Claims, key)
	if err == nil {
		between()
		err = end()
	}
	p.note(asked{what, "delete", store.Claims, "", key}, err)
}

// get asks for an object.
func (p *player) get(what string, kind store.Kind, name string) {
	key := p.key(kind, name)
	_, err := p.backend.Get(p.ctx, kind, key)
	p.note(asked{what, "get", kind, "", key}, err)
}

// list asks for all objects that answer a query, page by page, by name.
func (p *player) list(what string, kind store.Kind, query store.Query) {
	a := Answer{Request: what, Sort: "list " + string(kind), Outcome: "ok"}
	var pages []string
	for {
		page, err := p.backend.List(p.ctx, kind, query)
		if err != nil {
			a.Outcome = string(apierrors.ReasonForError(err))
			break
		}
		var names []string
		for _, v := range page.Items {
			names = append(names, strings.ReplaceAll(v.Key.Name, p.namespace, "NAMESPACE"))
		}
		pages = append(pages, strings.Join(names, ","))
		if query.Continue = page.Continue; query.Continue == "" {
			break
		}
	}
	a.Object = strings.Join(pages, " | ")
	p.answers = append(p.answers, a)
}

func (p *player) decode(body string, into *map[string]any) {
	if err := json.Unmarshal([]byte(body), into); err != nil {
		panic(fmt.Sprintf("%s: %v", body, err))
	}
}

// plain is an object without what differs between servers.
func (p *player) plain(v *store.Version) string {
	object := maps.Clone(v.JSON)
	if meta, ok := object["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"} {
			if _, found := meta[key]; found {
				meta[key] = "SET"
			}
		}
		if managers := statusManagers(v.Kind, meta["managedFields"]); len(managers) > 0 {
			meta["managedFields"] = managers
		} else {
			delete(meta, "managedFields")
		}
		object["metadata"] = meta
	}
	if v.Kind == store.Namespaces {
		// What Kubernetes keeps for itself in namespaces, and the model does not read.
		delete(object, "spec")
		delete(object, "status")
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(text), p.namespace, "NAMESPACE")
}

// statusManagers are the managers of the status of a claim, the only ones that the
// store keeps.
func statusManagers(kind store.Kind, fields any) []string {
	list, _ := fields.([]any)
	var out []string
	for _, entry := range list {
		if entry, ok := entry.(map[string]any); ok && kind == store.Claims && entry["subresource"] == "status" {
			out = append(out, fmt.Sprint(entry["manager"], " ", entry["operation"]))
		}
	}
	slices.Sort(out)
	return out
}
