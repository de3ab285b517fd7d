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

package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// tracef notes what happened, if the schedule is traced.
func (w *World) tracef(format string, args ...any) {
	if w.config.Trace {
		w.trace = append(w.trace, fmt.Sprintf("%4d  ", w.step)+fmt.Sprintf(format, args...))
	}
}

// lineOf is a request and its answer in a line.
func lineOf(r store.Request, v verdict, err error) string {
	out := fmt.Sprintf("%s %s %s%s", r.Verb, where(r), r.Key, r.Body)
	if v != granted {
		out += " [" + string(v) + "]"
	}
	if err != nil {
		return out + " -> " + err.Error()
	}
	return out
}

// versions is an event in a few words.
func versions(e store.Event) string {
	rv := func(v *store.Version) string {
		if v == nil {
			return "none"
		}
		return v.RV
	}
	return fmt.Sprintf("%s %s -> %s", e.Key, rv(e.Before), rv(e.After))
}

// count counts something that was played.
func (w *World) count(what string) {
	w.Counts[what]++
}

// show is an object as text.
func show(v *store.Version) string {
	if v == nil {
		return "none"
	}
	object := maps.Clone(v.JSON)
	if status, ok := object["status"].(map[string]any); ok {
		status = maps.Clone(status)
		delete(status, "hardware")
		object["status"] = status
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Report is everything about a schedule that failed.
func (w *World) Report() string {
	if w.Failure == nil {
		return "all invariants held"
	}
	out := append([]string{}, w.trace...)
	out = append(out, "", "VIOLATED "+w.Failure.String(), "")
	for _, kind := range []store.Kind{store.Claims, store.Hosts, store.Policies} {
		for _, v := range w.log.All(kind) {
			out = append(out, show(v))
		}
	}
	return strings.Join(out, "\n")
}
