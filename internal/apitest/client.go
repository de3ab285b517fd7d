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

package apitest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Client reads from the API server what a manager reads from its cache, and is
// never behind. It evaluates the field indexes itself, which an API server does
// not have.
type Client struct {
	client.WithWatch

	// IndexedOnly refuses lists without an index, because the cost of a reconciler
	// that scans a namespace grows with the namespace. A list with a limit of one,
	// which shows whether an object exists, is allowed.
	IndexedOnly bool

	indexes map[string]client.IndexerFunc
}

// NewClient returns a client with the indexes that the functions add. Requests
// that calls names take that way instead.
func (s *Server) NewClient(
	ctx context.Context, calls interceptor.Funcs, indexes ...func(context.Context, client.FieldIndexer) error,
) (*Client, error) {
	c := &Client{WithWatch: interceptor.NewClient(s.Client, calls), indexes: map[string]client.IndexerFunc{}}
	for _, add := range indexes {
		if err := add(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// IndexField makes the client a client.FieldIndexer.
func (c *Client) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	c.indexes[gvk.Kind+"/"+field] = extract
	return nil
}

// List lists what the options select, by indexes too.
func (c *Client) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	switch {
	case o.FieldSelector == nil && c.IndexedOnly && o.Limit != 1:
		return fmt.Errorf("list of %T without an index: select by client.MatchingFields", list)
	case o.FieldSelector == nil:
		return c.WithWatch.List(ctx, list, o)
	}
	wanted := o.FieldSelector.Requirements()
	o.FieldSelector = nil
	if err := c.WithWatch.List(ctx, list, o); err != nil {
		return err
	}
	gvk, err := c.GroupVersionKindFor(list)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var found []runtime.Object
	for _, item := range items {
		match, err := c.matches(strings.TrimSuffix(gvk.Kind, "List"), item, wanted)
		if err != nil {
			return err
		}
		if match {
			found = append(found, item)
		}
	}
	return meta.SetList(list, found)
}

func (c *Client) matches(kind string, item runtime.Object, wanted fields.Requirements) (bool, error) {
	o, ok := item.(client.Object)
	if !ok {
		return false, fmt.Errorf("%T is no object", item)
	}
	for _, r := range wanted {
		extract, found := c.indexes[kind+"/"+r.Field]
		if !found {
			return false, fmt.Errorf("no index of %s by %s", kind, r.Field)
		}
		if !slices.Contains(extract(o), r.Value) {
			return false, nil
		}
	}
	return true, nil
}
