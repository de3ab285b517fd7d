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

package remediation

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// in is a phase that began before a while.
func in(phase infrav1.RemediationPhase, retries int32, before time.Duration) func(*objects) {
	return func(o *objects) {
		since := metav1.NewTime(start.Add(-before))
		o.remediation.Status = infrav1.Metal3RemediationStatus{Phase: phase, RetryCount: retries, LastRemediated: &since}
	}
}

func held(o *objects) { metav1.SetMetaDataAnnotation(&o.claim.ObjectMeta, holdOffKey("m-1"), hardOff) }

func powerOff(o *objects) { o.claim.Status.PoweredOn = false }

// off is a server that the remediation has switched off.
func off(o *objects) {
	held(o)
	powerOff(o)
}

func heldByOther(o *objects) {
	metav1.SetMetaDataAnnotation(&o.claim.ObjectMeta, infrav1.RemediationRebootPrefix+"other", hardOff)
}

// outOfTurn makes another remediation that acts.
func outOfTurn(o *objects) {
	o.other = o.remediation.DeepCopy()
	o.other.Name, o.other.DeletionTimestamp = "another", nil
	o.other.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour))
	o.other.Status.Phase = running
	o.remediation.CreationTimestamp = metav1.NewTime(start)
}

func unhealthy(o *objects) {
	metav1.SetMetaDataAnnotation(&o.claim.ObjectMeta, infrav1.UnhealthyClaimAnnotation, "true")
}

// is changes a condition of the claim.
func is(kind string, status metav1.ConditionStatus, reason, message string) func(*objects) {
	return func(o *objects) {
		meta.SetStatusCondition(&o.claim.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

var (
	unbound = is("Associated", metav1.ConditionFalse, "NoHost", "none fits")
	bound   = is("Provisioned", metav1.ConditionFalse, "Provisioning", "")
	lost    = is("Associated", metav1.ConditionFalse, bmov1alpha1.MissingBareMetalHostReason, "")
)

func outOfServiceNode(o *objects) { o.node = withTaint(o.node) }

func pod(o *objects) {
	o.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app"}, Spec: corev1.PodSpec{NodeName: "n-1"}}
}

func volume(o *objects) {
	o.volume = &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n-1"}}
}

// answers is a workload cluster whose answer to all requests is an error.
func answers(err error) func(*objects) { return func(o *objects) { o.workload = err } }

var (
	disconnected = answers(clustercache.ErrClusterNotConnected)
	denied       = answers(apierrors.NewForbidden(corev1.Resource("nodes"), "n-1", nil))
	failing      = answers(errBroken)
)

func deleted(o *objects) {
	o.remediation.DeletionTimestamp = &metav1.Time{Time: start.Add(-time.Minute)}
}

func machineDeleted(o *objects) {
	o.machine.Finalizers, o.machine.DeletionTimestamp = []string{"x"}, &metav1.Time{Time: start}
}

func unreadableClaim(o *objects) { o.unreadable = "the cluster of the hosts is dead" }

func TestReconcile(t *testing.T) {
	tests := map[string]struct {
		given   *objects
		want    state
		message string // a part of it
		err     error
	}{
		"begins": {given: newObjects(), want: state{"False/PoweringOff", running, 0, timeout, "", nil}},
		"begins for a server that is being provisioned, which may never end": {
			given: newObjects(bound), want: state{"False/PoweringOff", running, 0, timeout, "", nil},
		},
		"does not begin without a host": {
			given: newObjects(unbound), want: state{Ready: "False/WaitingForHostClaim"}, message: "no host",
		},
		"does not begin without a claim": {
			given: newObjects(func(o *objects) { o.claim = nil }), want: state{Ready: "False/WaitingForHostClaim"},
		},
		"does not begin without an owner": {
			given: newObjects(func(o *objects) { o.remediation.OwnerReferences = nil }),
			want:  state{Ready: "False/OwnerNotFound"}, message: "MachineHealthCheck",
		},
		"does not begin without its Machine": {
			given: newObjects(func(o *objects) { o.machine.UID = "another" }), want: state{Ready: "False/OwnerNotFound"}, message: `"m-1"`,
		},
		"does not begin without its Metal3Machine": {
			given: newObjects(func(o *objects) { o.metal3Machine = nil }), want: state{Ready: "False/OwnerNotFound"}, message: `"m-1"`,
		},
		"waits for a cluster of hosts that is dead, however long": {
			given: newObjects(in(running, 1, time.Hour), unreadableClaim),
			want:  state{"False/HostClaimUnreachable", running, 1, 0, "", nil}, message: "dead",
		},
		"does not begin beside another one": {given: newObjects(outOfTurn), want: state{Ready: "False/OtherRemediation"}, message: `"m-1"`},
		"lets the server go beside another one": {
			given: newObjects(in(running, 0, 0), outOfTurn, off),
			want:  state{"False/OtherRemediation", running, 0, 0, "", []string{"PoweringOn"}}, message: "delete",
		},
		"leaves the taint of the one that holds the server off": {
			given: newObjects(in(running, 0, 0), deleted, outOfServiceNode, heldByOther, powerOff), want: state{Marks: "tainted, gone"},
		},
		"does not wait for a claim when it has not begun": {given: newObjects(deleted, unreadableClaim), want: state{Marks: "gone"}},
		"begins anew after the owner switched the server off": {
			given: newObjects(in(failed, 1, time.Hour)), want: state{"False/PoweringOff", running, 0, timeout, "", nil},
		},
		"leaves the mark of another one when it is deleted": {
			given: newObjects(outOfTurn, deleted, unhealthy), want: state{Marks: "unhealthy, gone"},
		},
		"switches off": {
			given: newObjects(in(running, 0, 0)), want: state{"False/PoweringOff", running, 0, timeout, "held", []string{"PoweringOff"}},
		},
		"waits for another remediation of the machine": {
			given: newObjects(in(running, 0, 0), heldByOther),
			want:  state{"False/OtherRemediation", running, 0, timeout, "", nil}, message: "delete",
		},
		"says why the server is not switched off": {
			given: newObjects(in(running, 0, 0), held, is("Synchronized", metav1.ConditionFalse, "PowerChangesLimited", "10 times within 10 minutes")),
			want:  state{"False/PoweringOff", running, 0, timeout, "held", nil}, message: "off: 10 times within 10 minutes",
		},
		"cannot reboot a server that does not run the image": {
			given: newObjects(in(running, 0, 0), bound), want: state{"False/HostNotProvisioned", running, 0, timeout, "", nil},
		},
		"a server that cannot be switched off in time gets the time of the next reboot, which is no new one": {
			given: newObjects(in(running, 0, timeout), held), want: state{"False/PoweringOff", running, 1, timeout, "held", nil},
		},
		"a server that cannot be switched off is let go before its Machine is handed back": {
			given: newObjects(in(running, 1, timeout), held),
			want:  state{"False/PoweringOn", running, 1, 0, "", []string{"PoweringOn"}}, message: "within 2 reboots of 10m0s",
		},
		"does not switch off what it gave up on": {
			given: newObjects(in(running, 1, timeout)),
			want:  state{"False/HandedBack", deleting, 1, 0, "unhealthy, handed back", []string{"HandedBack"}},
		},
		"taints the Node of a server that is off": {
			given: newObjects(in(running, 0, 0), off, pod),
			want:  state{"False/Evacuating", running, 0, lookAgain, "held, tainted", []string{"NodeOutOfService"}}, message: "Pods",
		},
		"waits for Pods": {
			given: newObjects(in(running, 0, 0), off, outOfServiceNode, pod, volume),
			want:  state{"False/Evacuating", running, 0, lookAgain, "held, tainted", nil}, message: "Pods",
		},
		"waits for volumes": {
			given: newObjects(in(running, 0, 0), off, outOfServiceNode, volume),
			want:  state{"False/Evacuating", running, 0, lookAgain, "held, tainted", nil}, message: "volumes",
		},
		"Pods that do not leave in time end the wait": {
			given: newObjects(in(running, 0, timeout), off, outOfServiceNode, pod),
			want:  state{"False/PoweringOn", waiting, 1, timeout, "held, tainted", []string{"EvacuationSkipped"}}, message: "did not leave in time",
		},
		"goes on where there is no Node any more": {
			given: newObjects(in(running, 0, 0), off, func(o *objects) { o.node = nil }),
			want:  state{"False/PoweringOn", waiting, 0, timeout, "held", nil},
		},
		"goes on once all is gone": {
			given: newObjects(in(running, 0, 0), off, outOfServiceNode), want: state{"False/PoweringOn", waiting, 0, timeout, "held, tainted", nil},
		},
		"goes on with the power alone where the workload cluster is away": {
			given: newObjects(in(running, 0, 0), off, disconnected),
			want:  state{"False/PoweringOn", waiting, 0, timeout, "held", []string{"EvacuationSkipped"}}, message: "no connection",
		},
		"goes on with the power alone without rights": {
			given: newObjects(in(running, 0, 0), off, denied),
			want:  state{"False/PoweringOn", waiting, 0, timeout, "held", []string{"EvacuationSkipped"}}, message: "does not permit it",
		},
		"repeats requests that fail": {
			given: newObjects(in(running, 0, 0), off, failing), want: state{"False/WorkloadClusterUnreachable", running, 0, 0, "held", nil}, err: errBroken,
		},
		"believes nothing of the power of a server that is not its own any more": {
			given: newObjects(in(running, 0, 0), off, unbound), want: state{"False/PoweringOff", running, 0, timeout, "held", nil},
		},
		"reboots a machine that never had a Node": {
			given: newObjects(in(running, 0, 0), off, func(o *objects) { o.machine.Status.NodeRef.Name = "" }),
			want:  state{"False/PoweringOn", waiting, 0, timeout, "held", nil},
		},
		"lets the server go": {
			given: newObjects(in(waiting, 0, 0), off), want: state{"False/PoweringOn", waiting, 0, timeout, "", []string{"PoweringOn"}},
		},
		"waits for the server to be on": {
			given: newObjects(in(waiting, 0, 0), powerOff, outOfServiceNode),
			want:  state{"False/PoweringOn", waiting, 0, timeout, "tainted", nil}, message: "to be on",
		},
		"a server that does not come on is not switched off again": {
			given: newObjects(in(waiting, 0, timeout), powerOff), want: state{"False/PoweringOn", waiting, 1, timeout, "", nil},
		},
		"takes the taint away": {
			given: newObjects(in(waiting, 0, 0), outOfServiceNode),
			want:  state{"True/Rebooted", waiting, 0, timeout, "", []string{"NodeRestored", "Rebooted"}},
		},
		"waits for the workload cluster, which may have a taint": {
			given: newObjects(in(waiting, 0, 0), disconnected), want: state{"False/WorkloadClusterUnreachable", waiting, 0, timeout, "", nil},
		},
		"asks a workload cluster again that may have a taint": {
			given: newObjects(in(waiting, 0, 0), failing), want: state{"False/WorkloadClusterUnreachable", waiting, 0, 0, "", nil}, err: errBroken,
		},
		"does not wait for rights": {
			given: newObjects(in(waiting, 0, 0), denied), want: state{"True/Rebooted", waiting, 0, timeout, "", []string{"Rebooted"}},
		},
		"is ready until the MachineHealthCheck deletes it": {
			given: newObjects(in(waiting, 0, 0)), want: state{"True/Rebooted", waiting, 0, timeout, "", []string{"Rebooted"}},
		},
		"reboots again": {
			given: newObjects(in(waiting, 0, timeout)), want: state{"False/PoweringOff", running, 1, timeout, "", nil}, message: "again",
		},
		"hands the Machine back at the limit": {
			given: newObjects(in(waiting, 1, timeout)),
			want:  state{"False/HandedBack", deleting, 1, 0, "unhealthy, handed back", []string{"HandedBack"}}, message: "owner",
		},
		"a Machine that is handed back already is left as it is": {
			given: newObjects(in(waiting, 1, timeout), func(o *objects) {
				conditions.Set(o.machine, metav1.Condition{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse, Reason: "x"})
			}),
			want: state{"False/HandedBack", deleting, 1, 0, "handed back", nil},
		},
		"takes the taint away also from a Machine that is handed back": {
			given: newObjects(in(deleting, 1, timeout), outOfServiceNode), want: state{"False/HandedBack", deleting, 1, 0, "", []string{"NodeRestored"}},
		},
		"does nothing more for it": {given: newObjects(in(deleting, 1, timeout)), want: state{"False/HandedBack", deleting, 1, 0, "", nil}},
		"hands the Machine of a host that is gone back at once": {
			given: newObjects(lost), want: state{"False/HandedBack", deleting, 0, 0, "unhealthy, handed back", []string{"HandedBack"}},
		},
		"fails while the server is switched off on purpose": {
			given: newObjects(func(o *objects) { o.claim.Spec.PoweredOn = false }),
			want:  state{"False/PoweredOff", failed, 0, 0, "", nil}, message: "spec.poweredOn",
		},
		"lets go of a server that is switched off on purpose": {
			given: newObjects(in(running, 0, 0), off, func(o *objects) { o.claim.Spec.PoweredOn = false }),
			want:  state{"False/PoweredOff", running, 0, 0, "", []string{"PoweringOn"}},
		},
		"takes the taint off the Node of a server that is switched off on purpose": {
			given: newObjects(in(running, 0, 0), powerOff, outOfServiceNode, func(o *objects) { o.claim.Spec.PoweredOn = false }),
			want:  state{"False/PoweredOff", failed, 0, 0, "", []string{"NodeRestored"}},
		},
		"begins anew once it is switched on": {
			given: newObjects(in(failed, 0, time.Hour)), want: state{"False/PoweringOff", running, 0, timeout, "", nil},
		},
		"lets the server of a Machine go that is being deleted": {
			given: newObjects(in(running, 0, 0), off, machineDeleted), want: state{"False/MachineDeleting", running, 0, 0, "", []string{"PoweringOn"}},
		},
		"stops where a user wants no remediation": {
			given: newObjects(in(waiting, 0, 0), outOfServiceNode, func(o *objects) {
				o.machine.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: ""}
			}),
			want: state{"False/RemediationSkipped", waiting, 0, 0, "", []string{"NodeRestored"}}, message: "skip-remediation",
		},
		"does nothing while it is paused": {
			given: newObjects(in(running, 0, 0), off, func(o *objects) {
				o.remediation.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			}),
			want: state{Phase: running, Marks: "held"},
		},
		"ends at once before it began": {given: newObjects(deleted), want: state{Marks: "gone"}},
		"ends with the server on": {
			given: newObjects(in(running, 0, 0), off, outOfServiceNode, deleted), want: state{"False/Deleting", running, 0, 0, "tainted", []string{"PoweringOn"}},
		},
		"ends without the taint": {
			given: newObjects(in(waiting, 0, 0), outOfServiceNode, deleted), want: state{Marks: "gone", Told: []string{"NodeRestored"}},
		},
		"ends without the mark, since the machine is healthy": {
			given: newObjects(in(deleting, 1, 0), deleted, unhealthy), want: state{"False/Deleting", deleting, 1, 0, "", nil},
		},
		"leaves the mark for a Machine that is replaced": {
			given: newObjects(in(deleting, 1, 0), deleted, unhealthy, machineDeleted), want: state{Marks: "unhealthy, gone"},
		},
		"ends when all is taken back": {given: newObjects(in(waiting, 0, 0), deleted), want: state{Marks: "gone"}},
		"does not end while the server may be held off in a cluster that is dead": {
			given: newObjects(in(waiting, 0, 0), deleted, unreadableClaim), want: state{"False/HostClaimUnreachable", waiting, 0, 0, "", nil}, message: "dead",
		},
		"does not end before the taint can be taken away": {
			given: newObjects(in(waiting, 0, 0), disconnected, deleted),
			want:  state{"False/WaitingForNode", waiting, 0, timeout - time.Minute, "", nil}, message: "out-of-service",
		},
		"ends nevertheless after the time of a reboot": {
			given: newObjects(in(waiting, 0, 0), failing, func(o *objects) {
				o.remediation.DeletionTimestamp = &metav1.Time{Time: start.Add(-timeout)}
			}),
			want: state{Marks: "gone", Told: []string{"NodeNotRestored"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.given)
			result, err := w.pass()
			if !errors.Is(err, tc.err) {
				t.Errorf("error is %v, want %v", err, tc.err)
			}
			got, message := w.state(result)
			expect.Equal(t, tc.want, got)
			if !strings.Contains(message, tc.message) {
				t.Errorf("message %q lacks %q", message, tc.message)
			}
		})
	}
}

// TestFinalizer shows that a remediation which acts gets the finalizer before anything else.
func TestFinalizer(t *testing.T) {
	w := newWorld(t, newObjects(func(o *objects) { o.remediation.Finalizers = nil }))
	for _, want := range []state{{}, {"False/PoweringOff", running, 0, timeout, "", nil}} {
		result, err := w.pass()
		if got, _ := w.state(result); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("error %v, state %v, want %v", err, got, want)
		}
	}
	if len(w.objects.remediation.Finalizers) != 1 {
		t.Errorf("finalizers are %v", w.objects.remediation.Finalizers)
	}
}

// newer shows other versions than the cache does.
type newer struct{ client.Reader }

func (n newer) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := n.Reader.Get(ctx, key, o, options...)
	o.SetResourceVersion(o.GetResourceVersion() + "1")
	return err
}

// TestPassOnAnOldVersion shows that a pass on an old version touches neither server nor Node,
// and reports nothing.
func TestPassOnAnOldVersion(t *testing.T) {
	for name, given := range map[string]*objects{
		"of the remediation": newObjects(in(running, 0, 0)),
		"of the claim":       newObjects(in(running, 0, 0), off),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, given)
			before, _ := w.state(ctrl.Result{})
			w.Live = newer{w.store}
			result, err := w.pass()
			if got, _ := w.state(result); !apierrors.IsConflict(err) || cmp.Diff(before, got) != "" {
				t.Errorf("error %v, state %v, want %v", err, got, before)
			}
		})
	}
}

// TestWritesThatFail shows which events follow a pass whose write fails: those of the steps that
// were taken, none of what was not written.
func TestWritesThatFail(t *testing.T) {
	tests := map[string]struct {
		given *objects
		fails client.Object // the kind that cannot be written
		want  state
	}{
		"the claim": {newObjects(in(running, 0, 0)), &bmov1alpha1.HostClaim{}, state{Phase: running}},
		"the Node":  {newObjects(in(running, 0, 0), off), &corev1.Node{}, state{Phase: running, Marks: "held"}},
		"the Node that is restored": {
			newObjects(in(waiting, 0, 0), outOfServiceNode), &corev1.Node{}, state{Phase: waiting, Marks: "tainted"},
		},
		"the Machine that is handed back": {
			newObjects(in(waiting, 1, timeout)), &clusterv1.Machine{}, state{Phase: waiting, Retries: 1, Marks: "unhealthy"},
		},
		"the status after a step": {
			newObjects(in(running, 0, 0)), &infrav1.Metal3Remediation{}, state{Phase: running, Marks: "held", Told: []string{"PoweringOff"}},
		},
		"the status of a reboot that ends": {
			newObjects(in(waiting, 0, 0), outOfServiceNode), &infrav1.Metal3Remediation{}, state{Phase: waiting, Told: []string{"NodeRestored"}},
		},
		"the status of a Machine that was handed back": {
			newObjects(in(waiting, 1, timeout)), &infrav1.Metal3Remediation{},
			state{Phase: waiting, Retries: 1, Marks: "unhealthy, handed back", Told: []string{"HandedBack"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.given)
			w.fail = func(o client.Object) (error, bool) {
				if reflect.TypeOf(o) == reflect.TypeOf(tc.fails) {
					return errBroken, false
				}
				return nil, false
			}
			result, err := w.pass()
			if !errors.Is(err, errBroken) {
				t.Errorf("error is %v", err)
			}
			if got, _ := w.state(result); cmp.Diff(tc.want, got) != "" {
				t.Errorf("state (-want +got):\n%s", cmp.Diff(tc.want, got))
			}
		})
	}
}

// TestMetrics shows the metrics of a remediation that did not make its machine healthy.
func TestMetrics(t *testing.T) {
	w := newWorld(t, newObjects())
	for range 2 {
		for range 8 {
			if _, err := w.pass(); err != nil {
				t.Fatal(err)
			}
			w.obey()
		}
		w.clock.SetTime(w.clock.Now().Add(timeout))
	}
	if _, err := w.pass(); err != nil {
		t.Fatal(err)
	}
	if reboots, handedBack := testutil.ToFloat64(w.Metrics.reboots), testutil.ToFloat64(w.Metrics.handedBack); reboots != 2 || handedBack != 1 {
		t.Errorf("%v reboots and %v machines handed back", reboots, handedBack)
	}
	families, err := w.registry.Gather()
	expect.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "capm3_remediation_reboot_seconds" && family.GetMetric()[0].GetHistogram().GetSampleCount() == 2 {
			return
		}
	}
	t.Errorf("two reboots are not measured: %v", families)
}
