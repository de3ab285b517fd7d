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

package transport

import (
	"encoding/json"
	"hash/maphash"
	"io"
	"net/http"
	"strings"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// maxItems is how many items a forwarded list may have, and how many Nodes may come by the
// watches that follow it: twice what Kubernetes supports in one cluster.
const maxItems = 10_000

// nodeNames are the Nodes that watches have added to the cache of a client since it listed
// them. Each event is bounded, and a watch that ends goes on in the next one, so only their
// number over all watches bounds the cache.
type nodeNames struct {
	most int // maxItems

	mu   sync.Mutex
	seed maphash.Seed
	seen map[uint64]struct{} // hashes, since a name may be long
}

// bound returns the body of an answer, which ends with an error at the event that adds
// one Node too many. Other answers are returned as they are.
func (n *nodeNames) bound(t *Transport, request *http.Request, body io.ReadCloser) io.ReadCloser {
	if !strings.HasSuffix(request.URL.Path, "/api/v1/nodes") {
		return body
	}
	query := request.URL.Query()
	if !watches(request) || query.Get("sendInitialEvents") == "true" || query.Get("resourceVersion") == "" {
		n.begin()
	}
	if !watches(request) {
		return body
	}
	return &nodeEvents{ReadCloser: body, events: json.NewDecoder(body), add: n.add, refused: func() error { return t.refused(tooMany) }}
}

// begin forgets all names: the client begins anew.
func (n *nodeNames) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seed, n.seen = maphash.MakeSeed(), map[uint64]struct{}{}
}

// add takes note of an event, and says that there is room for it.
func (n *nodeNames) add(kind watch.EventType, name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seed, n.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	switch hash := maphash.String(n.seed, name); kind {
	case watch.Bookmark, watch.Error:
	case watch.Deleted:
		delete(n.seen, hash)
	default:
		n.seen[hash] = struct{}{}
	}
	return len(n.seen) <= n.most
}

// nodeEvents reads a watch event by event, as the client does that reads it next.
type nodeEvents struct {
	io.ReadCloser

	events  *json.Decoder
	add     func(watch.EventType, string) bool
	refused func() error
	pending []byte // of the event that is being read
}

// Read reads of one event at a time.
func (e *nodeEvents) Read(p []byte) (int, error) {
	for len(e.pending) == 0 {
		var text json.RawMessage
		if err := e.events.Decode(&text); err != nil {
			return 0, err
		}
		var event struct {
			Type   watch.EventType `json:"type"`
			Object struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			} `json:"object"`
		}
		_ = utiljson.Unmarshal(text, &event) // what is no event counts as a Node without a name
		if !e.add(event.Type, event.Object.Metadata.Name) {
			return 0, e.refused()
		}
		e.pending = append(text, '\n')
	}
	read := copy(p, e.pending)
	e.pending = e.pending[read:]
	return read, nil
}
