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
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// ofGroup makes the machine one of a group that misses it.
func ofGroup(reserved ...bmov1alpha1.HostClaim) change {
	return func(o *Observed) { o.Group = Group{Asked: true, Desired: 1, Reserved: reserved} }
}

// reserved is a claim that is kept for the next machine; its host is being deprovisioned.
func reserved(name string, changes ...func(*bmov1alpha1.HostClaim)) bmov1alpha1.HostClaim {
	claim := bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{infrav1.NodeReuseLabel: "md-workers"}}}
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"}
	for _, kind := range []string{bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition} {
		meta.SetStatusCondition(&claim.Status.Conditions, holding(kind, "Done"))
	}
	claim.Status.PoweredOn = true
	for _, change := range changes {
		change(&claim)
	}
	return claim
}

func resting(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = false }

func ending(c *bmov1alpha1.HostClaim) { c.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }

func broken(c *bmov1alpha1.HostClaim) {
	meta.SetStatusCondition(&c.Status.Conditions, waiting(bmov1alpha1.ReadyCondition, bmov1alpha1.ErrorReason, "in error"))
}

// TestMachineReusesTheHostOfAnother shows when a machine looks at what is reserved; TestNextReserved shows what it finds.
func TestMachineReusesTheHostOfAnother(t *testing.T) {
	ready, unfit := reserved("ready", resting), reserved("unfit", func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = "row-9" })
	for name, tc := range map[string]struct {
		given Observed
		want  ReusePlan
		waits string
	}{
		"it lets go what it cannot use, and asks at once": {observe(ofGroup(unfit)), ReusePlan{LetGo: []string{"unfit"}}, "HostClaimNotBound"},
		"it adopts nothing before it has user data": {
			given: observe(ofGroup(ready), func(o *Observed) { o.Bootstrap = noUserData }), waits: "WaitingForBootstrapData",
		},
		"it adopts nothing once it has a claim":       {given: observe(ofGroup(ready), unbound), waits: "HostClaimNotBound"},
		"it adopts nothing after it has lost its own": {given: observe(ofGroup(ready), established), waits: "HostLost"},
		"it adopts nothing after a copy took its own": {
			given: observe(ofGroup(ready), func(o *Observed) { o.TakenOver = true }), waits: "HostClaimTakenOver",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Next(tc.given)
			expect.Equal(t, tc.want, p.Reuse)
			if waits := p.waits(); len(waits) != 1 || waits[0].Reason != tc.waits {
				t.Errorf("waits are %v, want %s", waits, tc.waits)
			}
			expect.Equal(t, tc.waits == "HostClaimNotBound", p.Claim != nil) // asks the pool
		})
	}
}

// ofCAPM3 makes the machine one that has a host and no claim.
func ofCAPM3(o *Observed) {
	established(o)
	metav1.SetMetaDataAnnotation(&o.Machine.ObjectMeta, infrav1.HostAnnotation, owner.Namespace+"/host-1")
	secret := func(name string) *corev1.SecretReference {
		return &corev1.SecretReference{Namespace: owner.Namespace, Name: name}
	}
	status := &o.Machine.Status
	status.UserData, status.MetaData, status.NetworkData = secret("boot"), secret("m-1-metadata"), secret("m-1-networkdata")
}

// requested has the administrator ask for the machines of CAPM3 to be taken over, and marked as the machine is marked then.
func requested(o *Observed) {
	metav1.SetMetaDataAnnotation(&o.Infra.ObjectMeta, infrav1.TakeOverAnnotation, "true")
}

func marked(o *Observed) {
	metav1.SetMetaDataAnnotation(&o.Machine.ObjectMeta, infrav1.TakeOverAnnotation, "true")
}

// A machine of CAPM3 is marked, and gets a claim for what its host runs: when that is asked for, and only for a host of
// its own namespace.
func TestMachineOfCAPM3GetsItsClaim(t *testing.T) {
	taken := claim(deployment())
	taken.TakeOver, taken.PoweredOn = "host-1", true
	for name, tc := range map[string]struct {
		given  Observed
		marks  bool
		want   *claims.Wanted
		reason string
	}{
		"nobody has asked":                     {observe(ofCAPM3), false, nil, "HostLost"},
		"it is marked first":                   {observe(ofCAPM3, requested), true, nil, "TakingOver"},
		"then it gets its claim":               {observe(ofCAPM3, requested, marked), true, taken, "TakingOver"},
		"the claim waits for its host":         {observe(ofCAPM3, requested, marked, unbound, takingOver), true, taken, "HostClaimNotBound"},
		"something else has the claim's name":  {observe(ofCAPM3, requested, marked, inTheWay), false, nil, "HostLost"},
		"its claim belongs in another cluster": {observe(ofCAPM3, requested, marked, inAnotherCluster), false, nil, "HostLost"},
		"the host is of another namespace": {
			observe(ofCAPM3, requested, marked, func(o *Observed) { o.Machine.Annotations[infrav1.HostAnnotation] = "other/host-1" }), false, nil, "HostLost",
		},
		"its host was being provisioned":  {observe(ofCAPM3, requested, marked, begun), true, taken, "TakingOver"},
		"it goes before a reserved claim": {observe(ofGroup(reserved("a")), ofCAPM3, requested, marked, begun), true, taken, "TakingOver"},
		"it had a claim before it had a server": {
			observe(ofCAPM3, requested, marked, begun, func(o *Observed) { o.Machine.Status.HostClaim = &infrav1.Metal3ObjectRef{Name: "m-1"} }),
			false, claim(nil), "HostClaimNotBound",
		},
		"it had no host yet": {
			observe(requested, marked, func(o *Observed) { delete(o.Machine.Annotations, infrav1.HostAnnotation) }),
			false, claim(nil), "HostClaimNotBound",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Next(tc.given)
			expect.Equal(t, tc.marks, p.TakeOver)
			expect.Equal(t, tc.want, p.Claim)
			if waits := p.waits(); len(waits) == 0 || waits[0].Reason != tc.reason {
				t.Errorf("waits are %v, want %s", waits, tc.reason)
			}
		})
	}
}

// begun takes from a machine of CAPM3 what it has once its server runs.
func begun(o *Observed) {
	o.Machine.Spec.ProviderID, o.Machine.Status.Initialization.Provisioned = "", nil
}

func takingOver(o *Observed) {
	o.Claim.TakeOver, o.Claim.Deployment, o.Claim.PoweredOn = "host-1", deployment(), true
}

func inTheWay(o *Observed) { o.InTheWay = &bmov1alpha1.HostClaim{} }

func inAnotherCluster(o *Observed) { o.Remote = &claims.Remote{Namespace: "tenant", Origin: "origin"} }

// TestRelease shows what the transcripts of TestLife do not.
func TestRelease(t *testing.T) {
	wait := []metav1.Condition{waiting("HostClaimReady", "Deprovisioning", `Waiting for HostClaim "m-1" to be released`)}
	for name, tc := range map[string]struct {
		given Observed
		want  ReleasePlan
	}{
		"keeps a machine of CAPM3 until its host is taken over, or nobody asks for that": {
			observe(ofCAPM3, requested), ReleasePlan{Waits: neverTakenOver("host-1")},
		},
		"and in the next pass, too": {
			observe(ofCAPM3, requested, func(o *Observed) { set(o.Machine, neverTakenOver("host-1")[0]) }), ReleasePlan{Waits: neverTakenOver("host-1")},
		},
		"keeps a machine whose claim is refused the host, too": {
			observe(ofCAPM3, requested, unbound, takingOver), ReleasePlan{Waits: neverTakenOver("host-1")},
		},
		"gives a host back that was taken over": {
			observe(ofCAPM3, requested, bound, takingOver), ReleasePlan{DeleteClaim: true, Waits: wait},
		},
		"keeps no machine of CAPM3 that is not to be taken over": {observe(ofCAPM3), ReleasePlan{Done: true}},
		"keeps no machine whose claim was deleted": {
			observe(ofCAPM3, requested, func(o *Observed) { set(o.Machine, waiting("HostClaimReady", "Deprovisioning", "")) }), ReleasePlan{Done: true},
		},
		"leaves data of something else alone": {observe(func(o *Observed) { o.Data.NameTaken = true }), ReleasePlan{Done: true}},
		"keeps the data while the host is given back": {
			observe(rendered, func(o *Observed) { o.Left = ptr.To(reserved("m-1", resting, ending)) }),
			ReleasePlan{Waits: kept("m-1")},
		},
		"ends the reservations of a group that goes": {
			observe(ofGroup(reserved("a"), reserved("b", ending)), func(o *Observed) { o.Group.Going = true }),
			ReleasePlan{LetGo: []string{"a"}, Done: true},
		},
		"reserves no claim of an unhealthy machine": {
			observe(bound, ofGroup(), func(o *Observed) { o.Unhealthy = true }), ReleasePlan{DeleteClaim: true, Waits: wait},
		},
	} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Release(tc.given)) })
	}
}
