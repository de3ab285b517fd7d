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
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestTemplatesOfFailureDomains shows where the list of templates comes from: past the cache where that
// does not know the Metal3MachineTemplate yet, and from no template that is gone; and that it is read
// as soon as a host is being bound.
func TestTemplatesOfFailureDomains(t *testing.T) {
	byDomain := []infrav1.FailureDomainDataTemplate{{FailureDomain: "rack-a", DataTemplate: infrav1.Metal3ObjectRef{Name: "of-a"}}}
	bound := claims.State{Phase: claims.Bound}
	for name, test := range map[string]struct {
		exists, cached bool
		claim          claims.State
		err            error
		want           []infrav1.FailureDomainDataTemplate
		unlisted       string
	}{
		"from the cache":                        {exists: true, cached: true, claim: bound, want: byDomain},
		"past a cache that is behind":           {exists: true, claim: bound, want: byDomain},
		"from no template that is gone":         {claim: bound, unlisted: "x"},
		"an error is not taken for no template": {exists: true, cached: true, claim: bound, err: errBroken},
		"while a host is being bound": {
			exists: true, cached: true, claim: claims.State{Phase: claims.Unbound, Binding: true}, want: byDomain,
		},
		"not while the machine waits for a host": {exists: true, cached: true, claim: claims.State{Phase: claims.Unbound}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) {
				c.machine.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: "template"}
				c.machine.Annotations = map[string]string{
					clusterv1.TemplateClonedFromNameAnnotation: "x", clusterv1.TemplateClonedFromGroupKindAnnotation: claims.TemplateKind,
				}
			}))
			if test.exists {
				w.create(&infrav1.Metal3MachineTemplate{
					ObjectMeta: metav1.ObjectMeta{Name: "x"},
					Spec: infrav1.Metal3MachineTemplateSpec{
						Template:                   infrav1.Metal3MachineTemplateResource{Spec: w.machine.Spec},
						FailureDomainDataTemplates: byDomain,
					},
				})
			}
			w.Client = w.through(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
					switch {
					case test.err != nil:
						return test.err
					case !test.cached:
						return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
					}
					return c.Get(ctx, key, o, options...)
				},
			})
			s := &scope{Observed: Observed{Machine: w.machine}}
			s.Claim, s.Facts = test.claim, test.claim.HasHost()
			if err := w.observeDomains(t.Context(), s); !errors.Is(err, test.err) {
				t.Errorf("error is %v, want %v", err, test.err)
			}
			expect.Equal(t, test.want, s.Data.ByDomain)
			expect.Equal(t, test.unlisted, s.Data.Unlisted)
		})
	}
}

func TestDataFacts(t *testing.T) {
	claim := func(change ...func(*infrav1.Metal3DataClaim)) *infrav1.Metal3DataClaim {
		c := &infrav1.Metal3DataClaim{ObjectMeta: metav1.ObjectMeta{Name: "m-1", UID: "claim-uid"}}
		c.Spec.Template = &infrav1.Metal3ObjectRef{Name: "template"}
		c.Status.RenderedData = &infrav1.Metal3ObjectRef{Name: "template-0"}
		for _, f := range change {
			f(c)
		}
		return c
	}
	data := func(change ...func(*infrav1.Metal3Data)) infrav1.Metal3Data {
		d := infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{
			Name: "template-0",
			OwnerReferences: []metav1.OwnerReference{
				{Kind: "Metal3DataClaim", Name: "m-1", UID: "claim-uid", Controller: ptr.To(true)},
			},
		}}
		for _, f := range change {
			f(&d)
		}
		return d
	}
	ready := func(d *infrav1.Metal3Data) {
		d.Status.Ready = ptr.To(true)
		d.Spec.MetaData, d.Spec.NetworkData = &corev1.SecretReference{Name: "meta"}, &corev1.SecretReference{Name: "net"}
	}
	ofOther := func(d *infrav1.Metal3Data) { d.OwnerReferences[0].UID = "other" }
	unavailable := []metav1.Condition{{Type: "Ready", Status: "False", Reason: "AddressUnavailable", Message: "exhausted"}}
	held := DataFacts{ClaimExists: true, Template: "template", ClaimHeld: true}
	answered := func(change func(*DataFacts)) DataFacts {
		f := held
		f.Name = "template-0"
		change(&f)
		return f
	}
	tests := map[string]struct {
		claim *infrav1.Metal3DataClaim
		data  infrav1.Metal3Data
		want  DataFacts
	}{
		"a claim that has not been answered": {claim: claim(), want: held},
		"a claim for the data of a failure domain": {
			claim: claim(func(c *infrav1.Metal3DataClaim) {
				c.Annotations = map[string]string{infrav1.HostFailureDomainAnnotation: "row-1"}
			}),
			want: DataFacts{ClaimExists: true, Template: "template", ChosenFor: "row-1", ClaimHeld: true},
		},
		"data that is ready": {
			claim: claim(), data: data(ready),
			want: answered(func(f *DataFacts) { f.Ready, f.MetaData, f.NetworkData = true, "meta", "net" }),
		},
		"data that is not ready says why": {
			claim: claim(), data: data(func(d *infrav1.Metal3Data) { d.Status.ErrorMessage = "no pool" }),
			want: answered(func(f *DataFacts) { f.Reason, f.Message = "RenderingFailed", "no pool" }),
		},
		"data that waits for an address says nothing of it, and what its claim says is older": {
			claim: claim(func(c *infrav1.Metal3DataClaim) {
				c.Status.Conditions = unavailable
			}),
			data: data(func(d *infrav1.Metal3Data) {
				d.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "WaitingForAddresses", Message: "waits"}}
			}),
			want: answered(func(*DataFacts) {}),
		},
		"data whose address does not come says why": {
			claim: claim(), data: data(func(d *infrav1.Metal3Data) {
				d.Status.Conditions, d.Status.ErrorMessage = unavailable, "older"
			}),
			want: answered(func(f *DataFacts) { f.Reason, f.Message = "AddressUnavailable", "exhausted" }),
		},
		"data that is being deleted is not ready": {
			claim: claim(), data: data(ready, func(d *infrav1.Metal3Data) { d.DeletionTimestamp = &noon }),
			want: answered(func(*DataFacts) {}),
		},
		"data of another machine is none, though the claim names it": {claim: claim(), data: data(ready, ofOther), want: held},
		"data that the claim owns without being its controller is none": {
			claim: claim(), data: data(ready, func(d *infrav1.Metal3Data) { d.OwnerReferences[0].Controller = nil }), want: held,
		},
		"data without an owner is none": {
			claim: claim(), data: data(ready, func(d *infrav1.Metal3Data) { d.OwnerReferences = nil }), want: held,
		},
		"a deleted claim that we do not hold": {
			claim: claim(func(c *infrav1.Metal3DataClaim) { c.DeletionTimestamp = &noon }),
			want:  DataFacts{ClaimExists: true, Template: "template"},
		},
		"a deleted claim that we hold": {
			claim: claim(func(c *infrav1.Metal3DataClaim) {
				c.DeletionTimestamp, c.Finalizers = &noon, []string{infrav1.MachineFinalizer}
			}),
			want: held,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, dataFacts(tc.claim, tc.data)) })
	}
}
