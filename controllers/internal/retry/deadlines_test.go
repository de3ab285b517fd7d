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

package retry

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestDeadlines(t *testing.T) {
	start, a, b := time.Unix(0, 0), types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	var d Deadlines
	for _, step := range []struct {
		when   string
		object types.NamespacedName
		second int
		forget bool
		until  int
	}{
		{when: "a waits from here", object: a, second: 0, until: 3},
		{when: "it still does", object: a, second: 2, until: 3},
		{when: "b has a time of its own", object: b, second: 2, until: 5},
		{when: "the time of a has passed", object: a, second: 3, until: 3},
		{when: "and stays so", object: a, second: 9, until: 3},
		{when: "a is forgotten, and waits anew", object: a, second: 9, forget: true, until: 12},
	} {
		if step.forget {
			d.Forget(step.object)
		}
		now, want := start.Add(time.Duration(step.second)*time.Second), start.Add(time.Duration(step.until)*time.Second)
		until, left := d.Of(step.object, now, 3*time.Second)
		if !until.Equal(want) || left != now.Before(want) {
			t.Errorf("%s: until %s, left %v; want %s", step.when, until, left, want)
		}
	}
}
