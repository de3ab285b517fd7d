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

package watch

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestSourceIsLoggedByItsName(t *testing.T) {
	started := false
	named := Named("changes of Secrets", source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		started = true
		return nil
	}))
	expect.Equal(t, "changes of Secrets", fmt.Sprintf("%s", named))
	err := named.Start(t.Context(), nil)
	expect.That(t, err == nil && started, "the source is not started: %v", err)
}
