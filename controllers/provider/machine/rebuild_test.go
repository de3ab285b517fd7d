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

package machine

import (
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// rebuilt is a machine whose server is to be written anew, beside the hostclaim manager and
// the server that this plays.
type rebuilt struct {
	*group

	// token is the one that the server was wiped for last, and wipes and boots count.
	token        string
	wipes, boots int
	on           bool
	// stuck is how many steps the hostclaim manager cannot begin a rebuild for.
	stuck int
}

// runs gives the machine a server that runs, under the name of the secret that it got.
func (r *rebuilt) runs() {
	r.t.Helper()
	r.add("m-1")
	r.run("m-1")
	claim := r.claimed("m-1")
	userData := "boot"
	if r.site != r.namespace {
		userData = claim.Name + "-userdata"
	}
	r.edit(claim, func() {
		claim.Spec.PoweredOn = true
		claim.Spec.Image = &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc"}
		claim.Spec.UserData = &corev1.SecretReference{Namespace: r.site, Name: userData}
	})
	r.on = true
	r.play()
	r.pass(3, "m-1")
}

// play is one step of the hostclaim manager and of the server.
func (r *rebuilt) play() {
	r.t.Helper()
	claim := r.claimed("m-1")
	synchronized := true
	switch token := claim.Annotations[infrav1.RebuildAnnotation]; {
	case token != r.token && r.stuck > 0:
		r.stuck--
		synchronized = false
	case token != r.token:
		r.token, r.on = token, false
		r.wipes++
	case !r.on && claim.Spec.PoweredOn:
		r.on = true
		r.boots++
	}
	r.status(claim, r.on, map[string]bool{"Associated": true, "Synchronized": synchronized, "Provisioned": r.on, "AvailableForProvisioning": !r.on})
}

// ask edits the machine as Cluster API does, and asks for a rebuild.
func (r *rebuilt) ask() {
	r.t.Helper()
	fresh := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "boot-2", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": []byte("fresh")},
	}
	r.create(fresh)
	owner, m := read[clusterv1.Machine](r.world, "m-1"), r.machineNamed("m-1")
	r.edit(owner, func() { owner.Spec.Bootstrap.DataSecretName = ptr.To("boot-2") })
	r.edit(m, func() {
		m.Spec.Image.URL = "http://x/new"
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.RebuildAnnotation, "1")
	})
}

// rebuild plays a rebuild with a manager that dies with a write, 0 for none, and that another
// one follows. It returns how many writes that takes.
func (r *rebuilt) rebuild(d *die, at int, arrives bool) int {
	r.t.Helper()
	r.runs()
	before := r.machineNamed("m-1")
	uid := r.claimed("m-1").UID
	r.ask()
	*d = die{at: at, arrives: arrives}
	writes := 0
	for range 12 + r.stuck {
		r.pass(1, "m-1")
		if writes += d.writes; d.writes >= d.at {
			d.at = 0
		}
		d.writes = 0
		if r.machineNamed("m-1").Annotations[infrav1.RebuiltAnnotation] != "" && r.wipes == 0 {
			r.t.Fatal("the machine is rebuilt by a server that was not wiped")
		}
		r.play()
	}
	claim, m := r.claimed("m-1"), r.machineNamed("m-1")
	if r.wipes != 1 || r.boots != 1 {
		r.t.Errorf("%d wipes and %d boots, want 1 and 1", r.wipes, r.boots)
	}
	if claim.UID != uid || claim.Spec.Image.URL != "http://x/new" {
		r.t.Errorf("claim %s asks for %s", claim.UID, claim.Spec.Image.URL)
	}
	if m.Annotations[infrav1.RebuiltAnnotation] != "1" || m.Spec.ProviderID == "" || m.Spec.ProviderID != before.Spec.ProviderID {
		r.t.Errorf("annotations %v, provider ID %q, was %q", m.Annotations, m.Spec.ProviderID, before.Spec.ProviderID)
	}
	if given := r.given(claim); given != "fresh" {
		r.t.Errorf("the server got the user data %q", given)
	}
	return writes
}

// given is the user data that the claim names.
func (r *rebuilt) given(claim *bmov1alpha1.HostClaim) string {
	r.t.Helper()
	secret := &corev1.Secret{}
	expect.NoError(r.t, r.server.Client.Get(r.t.Context(), client.ObjectKey{Namespace: r.site, Name: claim.Spec.UserData.Name}, secret))
	if r.site != r.namespace {
		return string(secret.Data["userData"])
	}
	return string(secret.Data["value"])
}

// TestRebuildSurvivesAManagerThatDiesWithAnyWrite plays a rebuild with a manager that dies with
// each of its writes, before it arrives and after: the server is wiped once, whatever happens.
func TestRebuildSurvivesAManagerThatDiesWithAnyWrite(t *testing.T) {
	for name, change := range places {
		diesWithAnyWrite(t, name, func(t *testing.T, d *die, at int, arrives bool) int {
			t.Helper()
			return (&rebuilt{group: workers(t, d, 1, change)}).rebuild(d, at, arrives)
		})
	}
}

// TestRebuildThatCannotBeginIsNotDone has the hostclaim manager report for some steps a server
// that still runs, since it cannot begin the rebuild: that must not count as done.
func TestRebuildThatCannotBeginIsNotDone(t *testing.T) {
	d := &die{}
	(&rebuilt{group: workers(t, d, 1), stuck: 4}).rebuild(d, 0, false)
}

// mark has Cluster API write the text of a template, null to take it off.
func (r *rebuilt) mark(o client.Object, text string) {
	r.t.Helper()
	o.SetNamespace(r.namespace)
	o.SetName("m-1")
	merge(r.t, o, `{"metadata":{"annotations":{"`+infrav1.RebuildAnnotation+`":`+text+`}}}`)
}

// TestTextOfATemplateWipesNothing has the text of a template come and go as Cluster API writes
// it, with a server that runs, and with a cache that does not show the Machine yet.
func TestTextOfATemplateWipesNothing(t *testing.T) {
	for name, change := range map[string]func(r *rebuilt){
		"after it was seen on both": func(r *rebuilt) {
			r.mark(&clusterv1.Machine{}, `"1"`)
			r.mark(&infrav1.Metal3Machine{}, `"1"`)
			r.pass(2, "m-1")
			r.mark(&clusterv1.Machine{}, `null`)
			r.pass(2, "m-1")
			r.mark(&infrav1.Metal3Machine{}, `null`)
		},
		"when the cache of Machines is behind": func(r *rebuilt) {
			behind := read[clusterv1.Machine](r.world, "m-1")
			r.Client = r.through(interceptor.Funcs{Get: func(
				ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption,
			) error {
				if machine, found := o.(*clusterv1.Machine); found {
					behind.DeepCopyInto(machine)
					return nil
				}
				return c.Get(ctx, key, o, options...)
			}})
			r.mark(&clusterv1.Machine{}, `"1"`)
			r.mark(&infrav1.Metal3Machine{}, `"1"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rebuilt{group: workers(t, &die{}, 1)}
			r.runs()
			change(r)
			r.pass(2, "m-1")
			if claim := r.claimed("m-1"); claim.Annotations[infrav1.RebuildAnnotation] != "" || !claim.Spec.PoweredOn {
				t.Errorf("the claim asks for a rebuild: %v, powered on %t", claim.Annotations, claim.Spec.PoweredOn)
			}
		})
	}
}
