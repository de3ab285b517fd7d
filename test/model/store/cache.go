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
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache follows a log, each kind at its own pace, and answers from what it has
// seen. It never goes back; a manager that restarts makes a new one.
type Cache struct {
	log     *Log
	seen    map[Kind]int // events of the kind
	objects map[Kind]map[client.ObjectKey]*Version
	keep    func(*Version) *Version
	indexes map[index]client.IndexerFunc
}

// index is a field index of a kind.
type index struct {
	kind  Kind
	field string
}

var _ client.FieldIndexer = &Cache{}

// NewCache returns a cache that has seen nothing yet. Of each object it holds what
// keep returns, and nothing where that is nil.
func NewCache(log *Log, keep func(*Version) *Version) *Cache {
	c := &Cache{
		log: log, keep: keep, seen: map[Kind]int{},
		objects: map[Kind]map[client.ObjectKey]*Version{}, indexes: map[index]client.IndexerFunc{},
	}
	for _, kind := range Kinds() {
		c.objects[kind] = map[client.ObjectKey]*Version{}
	}
	return c
}

// IndexField declares an index.
func (c *Cache) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	kind, _ := KindOf(object)
	c.indexes[index{kind, field}] = values
	return nil
}

// Relist brings a kind to the present, as a new informer does, and returns what
// the cache holds of it then.
func (c *Cache) Relist(kind Kind) []*Version {
	c.seen[kind] = len(c.log.byKind[kind])
	c.objects[kind] = map[client.ObjectKey]*Version{}
	for _, v := range c.log.All(kind) {
		if kept := c.keep(v); kept != nil {
			c.objects[kind][v.Key] = kept
		}
	}
	return sorted(c.objects[kind])
}

// Behind is the number of events of a kind that the cache has not seen.
func (c *Cache) Behind(kind Kind) int {
	return len(c.log.byKind[kind]) - c.seen[kind]
}

// Advance takes in the next event of a kind. It returns the event as the log has it; Before and
// After also have objects that the cache does not hold.
func (c *Cache) Advance(kind Kind) Event {
	e := c.log.byKind[kind][c.seen[kind]]
	c.seen[kind]++
	after := e.After
	if after != nil {
		after = c.keep(after)
	}
	apply(c.objects[kind], e.Key, after)
	return e
}

// get answers a read of one object.
func (c *Cache) get(kind Kind, key client.ObjectKey) (*Version, error) {
	v, found := c.objects[kind][key]
	if !found {
		return nil, apierrors.NewNotFound(kind.resource(), key.Name)
	}
	return v, nil
}

// list answers a list by namespace, labels and one indexed field.
func (c *Cache) list(kind Kind, query Query, field, value string) ([]*Version, error) {
	values, found := c.indexes[index{kind, field}]
	if field != "" && !found {
		return nil, fmt.Errorf("index with name %s does not exist", field)
	}
	var out []*Version
	for _, v := range sorted(c.objects[kind]) {
		if query.matches(v) && (field == "" || slices.Contains(values(v.Object()), value)) {
			out = append(out, v)
		}
	}
	if query.Limit > 0 && int64(len(out)) > query.Limit {
		out = out[:query.Limit]
	}
	return out, nil
}
