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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestLimiter(t *testing.T) {
	limiter := Limiter()
	failing := reconcile.Request{NamespacedName: types.NamespacedName{Name: "failing"}}
	var got []time.Duration
	for range 13 {
		got = append(got, limiter.When(failing))
	}
	want := []time.Duration{
		10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond,
		320 * time.Millisecond, 640 * time.Millisecond, 1280 * time.Millisecond, 2560 * time.Millisecond, 5120 * time.Millisecond,
		10240 * time.Millisecond, 15 * time.Second, 15 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delays of an object that fails (-want +got):\n%s", diff)
	}
	if other := limiter.When(reconcile.Request{}); other != First {
		t.Errorf("another object waits %v", other)
	}
	limiter.Forget(failing)
	if again := limiter.When(failing); again != First {
		t.Errorf("an object that went well meanwhile waits %v", again)
	}
}
