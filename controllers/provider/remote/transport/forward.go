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
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

const (
	// maxObject is the weight of an answer that is forwarded but for the items of a list: a
	// reader keeps one object longer than it takes to read it.
	maxObject = 4 << 20
	// maxEvent is the weight of an event of a watch.
	maxEvent = 4 << 20
	// maxWords bounds what is kept of the words of the server, in bytes.
	maxWords = 256
)

// Forward sends a request of a client that was made for another URL, and returns an
// answer that the client may obey and show: it leads to no other address, and has no
// headers, errors and warnings in the words of the server. Answers are bounded as those
// of the cache are, but a watch is bounded event by event, since such a client lists
// everything anew when a watch breaks off.
func (t *Transport) Forward(request *http.Request) (*http.Response, error) {
	server, err := url.Parse(t.server + "/") // JoinPath keeps no slash in front of an empty path
	if err != nil {
		return nil, t.Problem(identity.BadURL)
	}
	out := request.Clone(request.Context())
	out.URL, out.Host = server.JoinPath(request.URL.EscapedPath()), ""
	out.URL.RawQuery = request.URL.RawQuery
	response, err := t.send(out, terms{most: t.limits.Answer, within: t.limits.Request, forward: true})
	if err != nil {
		return nil, err
	}
	response.Request = request
	response.Header = http.Header{"Content-Type": {contentType(response.Header)}}
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		restate(response)
	case response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices:
		_ = response.Body.Close()
		return nil, t.refused(identity.Redirected)
	default:
		response.Body = t.nodes.bound(t, request, response.Body)
	}
	return response, nil
}

// contentType is that of an answer in JSON, whose parameters name the kind in it. Any
// other text in this header would be repeated by an error of client-go.
func contentType(header http.Header) string {
	if name := header.Get("Content-Type"); isJSON(name) && len(name) <= maxWords {
		return name
	}
	return "text/plain"
}

// restate replaces the body of a refusal by few printable characters.
func restate(response *http.Response) {
	said := metav1.Status{}
	if body, err := io.ReadAll(response.Body); err == nil {
		_ = json.Unmarshal(body, &said) // what is no Status has no message
	}
	_ = response.Body.Close()
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(response.StatusCode),
		Message: text.Shorten(text.Printable(said.Message), maxWords),
	}
	if slices.Contains(reasons[:], said.Reason) {
		status.Reason = said.Reason
	}
	if status.Message == "" {
		status.Message = http.StatusText(response.StatusCode)
	}
	body, _ := json.Marshal(status) //nolint:errchkjson // it has nothing that cannot be written
	response.Header.Set("Content-Type", jsonType)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// reasons are those by which clients distinguish refusals with the same status code.
var reasons = [...]metav1.StatusReason{
	metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonExpired, metav1.StatusReasonGone,
	metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout,
}

// maxItems is how many items a forwarded list may have, and how many Nodes may come by the
// watches that follow it: twice what Kubernetes supports in one cluster.
const maxItems = 10_000

// nodeNames are the Nodes that watches have added to the cache of a client since it listed
// them. A bound of what is read since that list would not do: a cluster of 5,000 Nodes sends
// more in some minutes than a hostile one needs to fill the memory with Nodes of 100 bytes.
type nodeNames struct {
	mu   sync.Mutex
	seen sets.Set[string] // cut to maxWords, since a name may be long
}

// bound returns the body of an answer, which ends with an error at the event that adds
// one Node too many. Other answers are returned as they are.
func (n *nodeNames) bound(t *Transport, request *http.Request, body io.ReadCloser) io.ReadCloser {
	if !strings.HasSuffix(request.URL.Path, "/api/v1/nodes") {
		return body
	}
	query := request.URL.Query()
	if !watches(request) || query.Get("sendInitialEvents") == "true" || query.Get("resourceVersion") == "" {
		n.mu.Lock()
		clear(n.seen) // the client begins anew
		n.mu.Unlock()
	}
	if !watches(request) {
		return body
	}
	return &nodeEvents{ReadCloser: body, events: json.NewDecoder(body), names: n, transport: t}
}

// add notes an event and reports whether there is room for its Node.
func (n *nodeNames) add(kind watch.EventType, name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch name = strings.Clone(name[:min(len(name), maxWords)]); kind {
	case watch.Bookmark, watch.Error:
	case watch.Deleted:
		n.seen.Delete(name)
	default:
		n.seen.Insert(name)
	}
	return len(n.seen) <= maxItems
}

// nodeEvents reads a watch event by event, as the client does that reads it next.
type nodeEvents struct {
	io.ReadCloser

	events    *json.Decoder
	names     *nodeNames
	transport *Transport
	pending   []byte // of the event that is being read
}

// Read reads of one event at a time.
func (e *nodeEvents) Read(p []byte) (int, error) {
	for len(e.pending) == 0 {
		var raw json.RawMessage
		if err := e.events.Decode(&raw); err != nil {
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
		_ = utiljson.Unmarshal(raw, &event) // what is no event counts as a Node without a name
		if !e.names.add(event.Type, event.Object.Metadata.Name) {
			return 0, e.transport.refused(identity.TooManyNodes)
		}
		e.pending = append(raw, '\n')
	}
	read := copy(p, e.pending)
	e.pending = e.pending[read:]
	return read, nil
}
