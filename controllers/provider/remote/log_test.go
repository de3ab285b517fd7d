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

package remote_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// lines are what a registry logs at V(0).
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(_, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, args)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}

// milestones are the messages, each with its reason.
func (l *lines) milestones() []string {
	var out []string
	message, reason := regexp.MustCompile(`"msg"="([^"]*)"`), regexp.MustCompile(`"reason"="([^"]*)"`)
	for _, line := range l.all() {
		var text []string
		for _, part := range []*regexp.Regexp{message, reason} {
			if found := part.FindStringSubmatch(line); found != nil {
				text = append(text, found[1])
			}
		}
		out = append(out, strings.Join(text, " "))
	}
	return out
}

func TestEachChangeOfAConnectionIsLoggedOnce(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	user, old, fresh := w.machine("m"), h.token(t, "old"), h.token(t, "fresh")
	w.problem(t, user, w.ref("infra"), infrav1.IdentitySecretNotFoundReason)

	w.secret(t, "infra", h.kubeconfig(t, old))
	site := w.site(t, user, w.ref("infra"))
	w.secret(t, "infra", h.kubeconfig(t, fresh))
	eventually(t, "the other token is used", func() bool { return len(w.log.all()) == 3 })

	h.setRules(t, rules()[1:])
	eventually(t, "a request is refused", func() bool { return site.Client.Create(t.Context(), h.claim("m", "o")) != nil })
	w.problem(t, user, w.ref("infra"), infrav1.IdentityForbiddenReason)
	h.setRules(t, rules())
	w.site(t, user, w.ref("infra"))

	want := []string{
		"Cannot use the Secret of an identityRef " + infrav1.IdentitySecretNotFoundReason,
		"Connected to the remote cluster",
		"Using other credentials for the remote cluster",
		"Lost the connection to the remote cluster " + infrav1.IdentityForbiddenReason,
		"Connected to the remote cluster",
	}
	eventually(t, "the way back is logged", func() bool { return len(w.log.all()) >= len(want) })
	expect.Equal(t, want, w.log.milestones())
	for _, line := range w.log.all() {
		expect.That(t, !strings.Contains(line, old) && !strings.Contains(line, fresh), "a token is in the log: %s", line)
	}
}
