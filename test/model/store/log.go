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
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event is one change of one object.
type Event struct {
	// Position counts all events of a log from 1.
	Position int
	// Kind and Key identify the object.
	Kind Kind
	Key  client.ObjectKey
	// Before is nil for an object that is new, After for one that is gone.
	Before, After *Version
}

// Log is the history of all objects.
type Log struct {
	events  []Event
	byKind  map[Kind][]Event
	current map[Kind]map[client.ObjectKey]*Version
	observe func(Event)
}

// NewLog returns an empty log. The function, which may be nil, is called for every event as it
// happens.
func NewLog(observe func(Event)) *Log {
	l := &Log{byKind: map[Kind][]Event{}, current: map[Kind]map[client.ObjectKey]*Version{}, observe: observe}
	for _, kind := range Kinds() {
		l.current[kind] = map[client.ObjectKey]*Version{}
	}
	return l
}

// Position is the number of events so far.
func (l *Log) Position() int {
	return len(l.events)
}

// Current returns an object as it is now.
func (l *Log) Current(kind Kind, key client.ObjectKey) (*Version, bool) {
	v, found := l.current[kind][key]
	return v, found
}

// All returns all objects of a kind as they are now, sorted by namespace and name.
func (l *Log) All(kind Kind) []*Version {
	return sorted(l.current[kind])
}

// At returns all objects of a kind as they were after the event of a position.
func (l *Log) At(kind Kind, position int) []*Version {
	state := map[client.ObjectKey]*Version{}
	for _, e := range l.byKind[kind] {
		if e.Position > position {
			break
		}
		apply(state, e.Key, e.After)
	}
	return sorted(state)
}

// record appends the change of an object; nil means that it is gone.
func (l *Log) record(kind Kind, key client.ObjectKey, after *Version) {
	e := Event{Position: len(l.events) + 1, Kind: kind, Key: key, Before: l.current[kind][key], After: after}
	l.events = append(l.events, e)
	l.byKind[kind] = append(l.byKind[kind], e)
	apply(l.current[kind], key, after)
	if l.observe != nil {
		l.observe(e)
	}
}

func apply(state map[client.ObjectKey]*Version, key client.ObjectKey, after *Version) {
	if after == nil {
		delete(state, key)
		return
	}
	state[key] = after
}

func sorted(state map[client.ObjectKey]*Version) []*Version {
	out := make([]*Version, 0, len(state))
	for _, v := range state {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b *Version) int {
		if c := strings.Compare(a.Key.Namespace, b.Key.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Key.Name, b.Key.Name)
	})
	return out
}
