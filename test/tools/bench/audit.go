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
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Request is what requests are counted by.
type Request struct {
	// User is the account and Agent the program that has sent it, without its version.
	User, Agent string
	// Verb is that of the API server: get, list, patch, and so on.
	Verb                  string
	Resource, Subresource string
	// Code is the HTTP status of the answer.
	Code int
}

// String names the request without its sender: "patch hostclaims/status (409)".
func (r Request) String() string {
	name := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	if r.Code >= 300 {
		name += fmt.Sprintf(" (%d)", r.Code)
	}
	return name
}

func (r Request) reads() bool {
	return r.Verb == "get" || r.Verb == "list"
}

// Counts is how many requests there were.
type Counts map[Request]int

// event is what is read of a line of the log.
type event struct {
	Stage, Verb, UserAgent string
	User                   struct{ Username string }
	ObjectRef              struct{ Resource, Subresource string }
	ResponseStatus         struct{ Code int }
}

// add counts an answered request for an object. Others are left out: watches, which
// stay open, and what concerns no resource.
func (c Counts) add(e event) {
	if e.Stage != "ResponseComplete" || e.Verb == "watch" || e.ObjectRef.Resource == "" {
		return
	}
	agent, _, _ := strings.Cut(e.UserAgent, "/")
	c[Request{
		User: e.User.Username, Agent: agent,
		Verb: e.Verb, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource, Code: e.ResponseStatus.Code,
	}]++
}

// Where are the counts of the requests that a condition holds for.
func (c Counts) Where(wanted func(Request) bool) Counts {
	out := Counts{}
	for request, count := range c {
		if wanted(request) {
			out[request] = count
		}
	}
	return out
}

// Of are the requests of one account.
func (c Counts) Of(user string) Counts {
	return c.Where(func(r Request) bool { return r.User == user })
}

// Plus adds the requests of two counts.
func (c Counts) Plus(other Counts) Counts {
	out := Counts{}
	for _, counts := range []Counts{c, other} {
		for request, count := range counts {
			out[request] += count
		}
	}
	return out
}

// Sum is how many requests there were, whatever they asked for.
func (c Counts) Sum() (sum int) {
	for _, count := range c {
		sum += count
	}
	return sum
}

// Reads are the requests that change nothing, Writes the others, also those that the
// API server refused, and Conflicts those that it refused as outdated or as existing.
func (c Counts) Reads() Counts { return c.Where(Request.reads) }

// Writes are the requests that are no Reads.
func (c Counts) Writes() Counts { return c.Where(func(r Request) bool { return !r.reads() }) }

// Conflicts are the requests that were answered by 409.
func (c Counts) Conflicts() Counts { return c.Where(func(r Request) bool { return r.Code == 409 }) }

// Each is how many requests of each name there were for each of a number of things.
func (c Counts) Each(things int) map[string]float64 {
	out := map[string]float64{}
	for request, count := range c {
		out[request.String()] += float64(count) / float64(things)
	}
	return out
}

// auditLog is an audit log that an API server goes on writing to.
type auditLog struct {
	path string
	read int64
}

// openLog follows the log at a path from its beginning. It need not exist yet.
func openLog(path string) *auditLog { return &auditLog{path: path} }

// Next counts what was logged since the last call. A line that is not complete is left
// to the next one.
func (l *auditLog) Next() (Counts, error) {
	file, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(l.read, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	complete := text[:strings.LastIndexByte(string(text), '\n')+1]
	counts, err := parse(string(complete))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.path, err)
	}
	l.read += int64(len(complete))
	return counts, nil
}

func parse(text string) (Counts, error) {
	counts := Counts{}
	for line := range strings.Lines(text) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, err
		}
		counts.add(e)
	}
	return counts, nil
}
