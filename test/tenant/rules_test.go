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

package tenant

import (
	"context"
	"strings"
	"sync"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

type edit = func(*bmov1alpha1.HostClaim)

// annotation and label set one key of a claim.
func annotation(key, value string) edit {
	return func(c *bmov1alpha1.HostClaim) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) }
}

func label(key, value string) edit {
	return func(c *bmov1alpha1.HostClaim) { metav1.SetMetaDataLabel(&c.ObjectMeta, key, value) }
}

func operatorOf(name selection.Operator) edit {
	return func(c *bmov1alpha1.HostClaim) {
		c.Spec.HostSelector.MatchExpressions = []bmov1alpha1.HostSelectorRequirement{
			{Key: "rack", Operator: name, Values: []string{"a1"}},
		}
	}
}

// TestRulesForNewClaims asks the API server, which applies the policies of config/
// and asks the manager.
func TestRulesForNewClaims(t *testing.T) {
	w := newWorld(t)
	const reservation = "infrastructure.cluster.x-k8s.io/node-reuse"
	tests := map[string]struct {
		claim edit
		says  []string // nothing when it is accepted
	}{
		"a claim that asks for nothing": {claim: func(*bmov1alpha1.HostClaim) {}},
		"references without namespace": {claim: func(c *bmov1alpha1.HostClaim) {
			c.Spec.UserData, c.Spec.MetaData, c.Spec.NetworkData = &corev1.SecretReference{Name: "u"},
				&corev1.SecretReference{Name: "m"}, &corev1.SecretReference{Name: "n"}
		}},
		"references to its own namespace": {claim: func(c *bmov1alpha1.HostClaim) {
			c.Spec.UserData = &corev1.SecretReference{Name: "u", Namespace: w.mallory}
		}},
		"user data of another namespace": {
			claim: func(c *bmov1alpha1.HostClaim) {
				c.Spec.UserData = &corev1.SecretReference{Name: "u", Namespace: w.alice}
			},
			says: []string{`spec.userData.namespace is "` + w.alice + `"`, "leave namespace out, and create the secret in " + w.mallory},
		},
		"a namespace that is too long to repeat": {
			claim: func(c *bmov1alpha1.HostClaim) {
				c.Spec.UserData = &corev1.SecretReference{Namespace: strings.Repeat("n", 20_000)}
			},
			says: []string{"spec.userData.namespace names another namespace than that of the claim; leave it out"},
		},
		"an image from an address that policy decides on": {claim: withImage("http://127.0.0.1/os.raw", "")},
		"an image from a file": {
			claim: withImage("file:///srv/os.raw", ""), says: []string{`spec.image.url has the scheme "file"`, "use http, https, ftp, gopher or oci"},
		},
		"a selector that cannot be understood": {
			claim: operatorOf("near"),
			says:  []string{"spec.hostSelector.matchExpressions[0] is invalid", `"near"`, "correct it, or leave it out"},
		},
		"a mark of the manager": {
			claim: annotation("hostclaim.metal3.io/reboot-request", "x"),
			says:  []string{"annotation hostclaim.metal3.io/reboot-request is written by the hostclaim manager alone", "verb manage"},
		},
		"the annotations of tenants": {claim: func(c *bmov1alpha1.HostClaim) {
			c.Annotations = map[string]string{"hostclaim.metal3.io/soft-failure-domain": "true", "hostclaim.metal3.io/rebuild": "1"}
		}},
		"a label of reservations": {claim: label(reservation, "pool")},
		"the finalizer of a controller": {
			claim: func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{"hostclaim.metal3.io/machines"} },
			says:  []string{"a finalizer that begins with hostclaim.metal3.io/ is put on a claim by the controller", "verb release on hostclaims"},
		},
		"arguments for a class": {claim: annotation("hostclaim.metal3.io/class-arguments", strings.Repeat("x", 8192))},
		"arguments of a megabyte, nearly": {
			claim: annotation("hostclaim.metal3.io/class-arguments", strings.Repeat("x", 200_000)),
			says:  []string{"annotation hostclaim.metal3.io/class-arguments has more than 8192 characters: shorten it"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := mallory.Create(t.Context(), builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: "new"}, tt.claim), client.DryRunAll)
			answered(t, err, tt.says)
		})
	}
}

// answered compares an answer of the API server with the parts of a refusal, of
// which an accepted request has none.
func answered(t *testing.T, err error, says []string) {
	t.Helper()
	expect.Must(t, (err == nil) == (says == nil), "answered with %v, want %q", err, says)
	for _, part := range says {
		expect.That(t, strings.Contains(err.Error(), part), "answered with %q, want %q", err, part)
	}
}

// TestRulesForBoundClaims changes claims that have their hosts. The claims are
// paused, so that the manager leaves them as they are.
func TestRulesForBoundClaims(t *testing.T) {
	w := newWorld(t)
	const (
		reservation = "infrastructure.cluster.x-k8s.io/node-reuse"
		rebuild     = "hostclaim.metal3.io/rebuild"
		class       = "hostclaim.metal3.io/class"
	)
	answeredBy := func(controller string) edit {
		return func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{"hostclaim.metal3.io/" + controller} }
	}
	consumer := func(c *bmov1alpha1.HostClaim) {
		c.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Name: "m"}
	}
	unconsumed := func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef = nil }
	running := withImage(goodURL, "")
	other := withImage("https://good.example/other.raw", "")
	empty := func(c *bmov1alpha1.HostClaim) { c.Spec.Image, c.Spec.CustomDeploy = nil, nil }
	custom := func(c *bmov1alpha1.HostClaim) { c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "install"} }
	rack := func(value string) edit {
		return func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchLabels = map[string]string{"rack": value} }
	}
	both := func(edits ...edit) edit {
		return func(c *bmov1alpha1.HostClaim) {
			for _, e := range edits {
				e(c)
			}
		}
	}
	unsynchronized := func(reason string) edit {
		return func(c *bmov1alpha1.HostClaim) {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: synchronized, Status: metav1.ConditionFalse, Reason: reason})
		}
	}
	unbound := func(c *bmov1alpha1.HostClaim) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: associated, Status: metav1.ConditionUnknown, Reason: "Binding"})
	}
	imageStays := []string{
		`spec.image (url "https://good.example/other.raw")`, `is asked to run url "` + goodURL + `"`,
		"annotation hostclaim.metal3.io/rebuild to a new value", "delete the claim",
	}
	tests := map[string]struct {
		given  edit
		status edit
		change edit
		says   []string // nothing when it is accepted
	}{
		"another selector": {
			given: rack("a1"), change: rack("b1"),
			says: []string{"spec.hostSelector cannot be changed", "infra/host-0", "delete the claim and create another one"},
		},
		"another expression": {
			given: rack("a1"), change: both(rack("a1"), operatorOf("in")), says: []string{"spec.hostSelector cannot be changed"},
		},
		"another namespace of hosts": {
			given:  rack("a1"),
			change: func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = "elsewhere" },
			says:   []string{"spec.hostSelector cannot be changed"},
		},
		"another selector before the bind": {given: rack("a1"), status: unbound, change: rack("b1")},
		"another failure domain": {
			given:  func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = "row-1" },
			change: func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = "row-2" },
			says:   []string{`spec.failureDomain cannot become "row-2"`, `leave it at "row-1"`},
		},
		"another failure domain before the bind": {
			status: unbound, change: func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = "row-2" },
		},
		"power":                               {given: both(rack("a1"), running), change: func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false }},
		"the first image":                     {change: running},
		"the first deploy method":             {change: custom},
		"another image":                       {given: running, change: other, says: imageStays},
		"another checksum":                    {given: running, change: func(c *bmov1alpha1.HostClaim) { c.Spec.Image.Checksum = "def" }, says: []string{"spec.image"}},
		"no image any more":                   {given: running, change: empty, says: []string{"spec.image"}},
		"a deploy method beside the image":    {given: running, change: custom, says: []string{`spec.customDeploy (method "install")`}},
		"no deploy method any more":           {given: custom, change: empty, says: []string{`method "install"`}},
		"another pull secret":                 {given: running, change: func(c *bmov1alpha1.HostClaim) { name := "pull"; c.Spec.Image.OCIAuthSecretName = &name }},
		"another image before the bind":       {given: running, status: unbound, change: other},
		"another image with a rebuild":        {given: running, change: both(other, annotation(rebuild, "1"))},
		"another image with a second rebuild": {given: both(running, annotation(rebuild, "1")), change: both(other, annotation(rebuild, "2"))},
		"another image with the old rebuild": {
			given: both(running, annotation(rebuild, "1")), change: other, says: imageStays,
		},
		"another image with a rebuild that the manager ignores": {
			given: running, change: both(other, annotation(rebuild, strings.Repeat("x", 64))), says: imageStays,
		},
		"another image with an empty rebuild": {given: running, change: both(other, annotation(rebuild, "")), says: imageStays},
		"another image after policy refused the first": {
			given: running, status: unsynchronized("ImageRefused"), change: other,
		},
		"an image that is put back": {given: running, status: unsynchronized("ImageChangeIgnored"), change: other},
		"another image while a secret is missing": {
			given: running, status: unsynchronized("UserDataSecretSyncFailure"), change: other, says: imageStays,
		},
		"no image for a reservation": {
			given: both(running, consumer), change: both(empty, unconsumed, label(reservation, "pool")),
		},
		"no image for a reservation that has its user": {
			given: both(running, consumer), change: both(empty, label(reservation, "pool")), says: []string{"spec.image"},
		},
		"another image for a reservation": {
			given: both(running, consumer), change: both(other, unconsumed, label(reservation, "pool")), says: imageStays,
		},
		"an image for the next user": {
			given: both(label(reservation, "pool")), change: both(running, consumer),
		},
		"another image for the next user of what was kept": {
			given: both(running, label(reservation, "pool")), change: both(other, consumer),
		},
		"a reference to another namespace": {
			change: func(c *bmov1alpha1.HostClaim) {
				c.Spec.MetaData = &corev1.SecretReference{Name: "m", Namespace: w.alice}
			},
			says: []string{`spec.metaData.namespace is "` + w.alice + `"`},
		},
		"a mark of the manager": {change: annotation("hostclaim.metal3.io/reboot-request", "x"), says: []string{"verb manage"}},
		"another class once a controller answers": {
			given: both(label(class, "large"), answeredBy("machines")), change: label(class, "small"),
			says: []string{`label hostclaim.metal3.io/class cannot become "small", since a controller of class "large" answers the claim`},
		},
		"a class once the hostclaim manager answers": {
			given: answeredBy("finalizer"), change: label(class, "small"), says: []string{"label hostclaim.metal3.io/class cannot become"},
		},
		"another class before that": {given: label(class, "large"), change: label(class, "small")},
		"other arguments once a controller answers": {
			given: answeredBy("machines"), change: annotation("hostclaim.metal3.io/class-arguments", "{}"),
			says: []string{"annotation hostclaim.metal3.io/class-arguments cannot be changed"},
		},
		"the finalizer of another controller": {
			given: answeredBy("machines"), change: func(c *bmov1alpha1.HostClaim) { c.Finalizers = append(c.Finalizers, "hostclaim.metal3.io/others") },
			says: []string{"a finalizer that begins with hostclaim.metal3.io/ is put on a claim by the controller"},
		},
		"the finalizer of the controller that answers": {
			given: answeredBy("machines"), change: func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil },
			says: []string{"is removed by the controller that answers the claim", "verb release"},
		},
	}
	number := 0
	for name, tt := range tests {
		number++
		claim := builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: "bound-" + strings.Repeat("x", number)})
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			claim.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""}
			if tt.given != nil {
				tt.given(claim)
			}
			g.Expect(server.Client.Create(t.Context(), claim)).To(gomega.Succeed()) // with what only controllers put on it
			g.Expect(pretendBound(t.Context(), claim)).To(gomega.Succeed())
			if tt.status != nil {
				before := claim.DeepCopy()
				tt.status(claim)
				g.Expect(server.Client.Status().Patch(t.Context(), claim, client.MergeFrom(before))).To(gomega.Succeed())
			}
			before := claim.DeepCopy()
			tt.change(claim)
			answered(t, mallory.Patch(t.Context(), claim, client.MergeFrom(before), client.DryRunAll), tt.says)
		})
	}
}

// oldNamespace holds claims from before the rules.
const oldNamespace = "from-before"

// createOldFaults makes claims that the rules would refuse, before the rules are
// installed: one that the manager works on, and one that looks bound and is paused.
func createOldFaults(ctx context.Context) error {
	faulty := func(name string, edits ...edit) *bmov1alpha1.HostClaim {
		claim := builder.Claim(client.ObjectKey{Namespace: oldNamespace, Name: name}, operatorOf("near"), withImage(goodURL, ""),
			annotation("reboot.metal3.io", "now"), annotation("baremetalhost.metal3.io/detached", ""),
			annotation("hostclaim.metal3.io/reboot-request", "x"))
		claim.Spec.UserData = &corev1.SecretReference{Name: "u", Namespace: "elsewhere"}
		for _, e := range edits {
			e(claim)
		}
		return claim
	}
	bound := faulty("bound", annotation("cluster.x-k8s.io/paused", ""), func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{finalizer}
	})
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: oldNamespace}}, faulty("waiting"), bound,
	} {
		if err := server.Client.Create(ctx, o); err != nil {
			return err
		}
	}
	return pretendBound(ctx, bound)
}

// What stands in a claim from before the rules does not hold up anything else, the
// manager and the end of the claim least of all.
func TestRulesLetOldFaultsBe(t *testing.T) {
	w := newWorld(t)
	w.admit(mallory, malloryName, oldNamespace)
	waiting, bound := builder.Claim(client.ObjectKey{Namespace: oldNamespace, Name: "waiting"}), builder.Claim(client.ObjectKey{Namespace: oldNamespace, Name: "bound"})
	w.expect(waiting, associated, "False/InvalidHostSelector")
	w.Await(waiting, func(g gomega.Gomega) { // its next write
		g.Expect(waiting.Finalizers).To(gomega.ContainElement(finalizer))
	})
	w.OK(change(w, mallory, waiting, label("team", "m")))
	w.OK(change(w, mallory, bound, func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false }))
	w.refused(change(w, mallory, bound, annotation("hostclaim.metal3.io/reboot-request", "y")), "verb manage")
	w.OK(change(w, mallory, bound, func(c *bmov1alpha1.HostClaim) { delete(c.Annotations, "baremetalhost.metal3.io/detached") }))
	w.refused(change(w, mallory, bound, annotation("baremetalhost.metal3.io/detached", "")), "is not accepted")

	w.end(mallory, waiting)
	w.OK(mallory.Delete(w.Ctx, bound))
	manager, err := client.New(server.As(harness.HostClaimAccount()), client.Options{Scheme: server.Scheme})
	w.OK(err)
	w.OK(change(w, mallory, bound, func(c *bmov1alpha1.HostClaim) { c.Spec.Image = nil })) // it goes anyway
	w.OK(change(w, manager, bound, func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil }))
	w.AwaitGone(bound)
}

// A claim that is to take a host of CAPM3 over would look for another one without its annotation, and run the same there.
func TestTakeOverOfAClaimStays(t *testing.T) {
	w := newWorld(t)
	const key = "hostclaim.metal3.io/take-over"
	claim := w.attack("machine")
	w.OK(change(w, mallory, claim, annotation(key, "host-0")))
	w.refused(change(w, mallory, claim, annotation(key, "host-1")), "stays as it is")
	w.refused(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { delete(c.Annotations, key) }), "delete the claim")
	w.OK(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { // as clusterctl does
		c.Annotations = map[string]string{"clusterctl.cluster.x-k8s.io/delete-for-move": ""}
	}))
}

// The manager writes the marks that others cannot.
func TestManagerWritesItsMarks(t *testing.T) {
	w := newWorld(t)
	manager, err := client.New(server.As(harness.HostClaimAccount()), client.Options{Scheme: server.Scheme})
	w.OK(err)
	claim := w.attack("machine")
	mark := annotation("hostclaim.metal3.io/reboot-request", "x")
	w.G.Eventually(func() error { return change(w, manager, claim, mark) }).Should(gomega.Succeed())
	unmark := func(c *bmov1alpha1.HostClaim) { delete(c.Annotations, "hostclaim.metal3.io/reboot-request") }
	w.refused(change(w, mallory, claim, annotation("hostclaim.metal3.io/reboot-request", "y")), "leave it as it was")
	w.OK(change(w, manager, claim, unmark))

	// Who takes one off, as a replace by an old manifest does, takes back a wish.
	w.OK(change(w, manager, claim, mark))
	w.OK(change(w, mallory, claim, unmark))
}

func TestRulesForPolicies(t *testing.T) {
	w := newWorld(t)
	tests := map[string]struct {
		spec bmov1alpha1.HostDeployPolicySpec
		says []string // nothing when it is accepted
	}{
		"names of namespaces": {spec: admitting(bmov1alpha1.HostClaimNamespaces{Names: []string{"tenant-a", "0"}})},
		"no namespace at all": {},
		"a name that no namespace has": {
			spec: admitting(bmov1alpha1.HostClaimNamespaces{Names: []string{"tenant-a", "tenant-.*"}}),
			says: []string{`spec.hostClaimNamespaces.names holds "tenant-.*"`, "use nameMatches for a pattern"},
		},
		"a name that is too long": {
			spec: admitting(bmov1alpha1.HostClaimNamespaces{Names: []string{strings.Repeat("a", 64)}}),
			says: []string{"which no namespace can be named"},
		},
		"a pattern that cannot be understood": {
			spec: admitting(bmov1alpha1.HostClaimNamespaces{NameMatches: "tenant-("}),
			says: []string{`spec.hostClaimNamespaces.nameMatches "tenant-("`, "RE2"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			answered(t, server.Client.Create(t.Context(), &bmov1alpha1.HostDeployPolicy{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "new"}, Spec: tt.spec,
			}, client.DryRunAll), tt.says)
		})
	}
}

// The design of upstream reads as if an empty policy admitted all namespaces; ours admits none and warns its
// author.
func TestPolicyThatAdmitsNobodySaysSo(t *testing.T) {
	w := newWorld(t)
	config := rest.CopyConfig(server.Config)
	var heard warnings
	config.WarningHandler = &heard
	author, err := client.New(config, client.Options{Scheme: server.Scheme})
	w.OK(err)
	policy := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "empty"}}
	w.OK(author.Create(w.Ctx, policy))
	says := gomega.ContainElement(gomega.And(gomega.ContainSubstring("admits no namespace"), gomega.ContainSubstring("hostClaimNamespaces: {}")))
	w.G.Expect(heard).To(says)
	w.G.Eventually(func() (notes []string) {
		list := &eventsv1.EventList{}
		w.OK(server.Client.List(w.Ctx, list, client.InNamespace(w.infra)))
		for _, e := range list.Items {
			if e.Regarding.UID == policy.UID && e.Reason == "AdmitsNobody" {
				notes = append(notes, e.Note)
			}
		}
		return notes
	}).Should(says)
}

// warnings are those that an API server has given.
type warnings []string

// HandleWarningHeader notes a warning.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

func admitting(namespaces bmov1alpha1.HostClaimNamespaces) bmov1alpha1.HostDeployPolicySpec {
	return bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &namespaces}
}

// operator plays baremetal-operator for all hosts: it watches them and moves their
// status one state at a time, and remembers what the servers went through.
type operator struct {
	mu sync.Mutex
	// drives are what each server got to boot from, the last one last.
	drives map[client.ObjectKey][]harness.Drive
	// cleaned counts how often each server was wiped with cleaning on, and dirty
	// how often without.
	cleaned, dirty map[client.ObjectKey]int
}

func startOperator(ctx context.Context) (*operator, error) {
	o := &operator{
		drives:  map[client.ObjectKey][]harness.Drive{},
		cleaned: map[client.ObjectKey]int{},
		dirty:   map[client.ObjectKey]int{},
	}
	c, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Scheme})
	if err != nil {
		return nil, err
	}
	harness.FollowHosts(ctx, c, func(_ watch.EventType, host *bmov1alpha1.BareMetalHost) error { return o.step(ctx, c, host) })
	return o, nil
}

// step moves a host one state on.
func (o *operator) step(ctx context.Context, c client.Client, host *bmov1alpha1.BareMetalHost) error {
	if host.Status.ErrorMessage != "" || host.Status.Provisioning.State == "" {
		return nil
	}
	before, key := host.DeepCopy(), client.ObjectKeyFromObject(host)
	o.mu.Lock()
	harness.Proceed(host, func() {
		o.drives[key] = append(o.drives[key], harness.ReadDrive(ctx, c, host))
	}, func() {
		if host.Spec.AutomatedCleaningMode == bmov1alpha1.CleaningModeMetadata {
			o.cleaned[key]++
		} else {
			o.dirty[key]++
		}
	})
	o.mu.Unlock()
	host.Status.PoweredOn = host.Spec.Online
	return c.Status().Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// booted returns what a server got to boot from so far.
func (o *operator) booted(host client.ObjectKey) []harness.Drive {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]harness.Drive{}, o.drives[host]...)
}

// wipes returns how often a server was wiped, with cleaning on and off.
func (o *operator) wipes(host client.ObjectKey) (cleaned, dirty int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cleaned[host], o.dirty[host]
}
