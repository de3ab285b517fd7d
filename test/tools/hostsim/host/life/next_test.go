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

package life

import (
	"fmt"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
)

const imageURL = "https://images.example.com/os.raw"

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// rack plays one host against a clock of its own.
type rack struct {
	Observed
}

// newRack is a host in a state, with an empty server that is off.
func newRack(state bmov1alpha1.ProvisioningState, changes ...func(*rack)) *rack {
	r := &rack{Observed{
		Now: start,
		Delays: Delays{
			Registration: time.Second, Inspection: time.Second, Preparation: time.Second, Provisioning: time.Second,
			Deprovisioning: time.Second, PowerOn: time.Second, SoftOff: 5 * time.Second, HardOff: time.Second, Retry: time.Minute,
		},
		Host: &bmov1alpha1.BareMetalHost{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "infra", Name: "host-0", UID: "uid-0", Finalizers: []string{bmov1alpha1.BareMetalHostFinalizer},
				Annotations: map[string]string{},
			},
			Spec: bmov1alpha1.BareMetalHostSpec{
				BMC:                   bmov1alpha1.BMCDetails{Address: "redfish://192.0.2.7/redfish/v1/Systems/1", CredentialsName: "bmc"},
				AutomatedCleaningMode: bmov1alpha1.CleaningModeMetadata,
			},
			Status: bmov1alpha1.BareMetalHostStatus{
				LastUpdated: &metav1.Time{Time: start}, OperationalStatus: bmov1alpha1.OperationalStatusOK,
				HardwareDetails: &bmov1alpha1.HardwareDetails{}, Provisioning: bmov1alpha1.ProvisionStatus{State: state},
			},
		},
	}}
	for _, change := range changes {
		change(r)
	}
	return r
}

// with sets annotations, given as key=value.
func with(annotations ...string) func(*rack) {
	return func(r *rack) {
		for _, text := range annotations {
			key, value, _ := strings.Cut(text, "=")
			r.Host.Annotations[key] = value
		}
	}
}

func online(r *rack) { r.Host.Spec.Online = true }

func asked(r *rack) {
	r.Host.Spec.Image = &bmov1alpha1.Image{URL: imageURL}
	r.Host.Spec.UserData = &corev1.SecretReference{Name: "user-data"}
}

// running is a server that was provisioned and is on.
func running(r *rack) {
	online(r)
	asked(r)
	r.Host.Status.Provisioning.Image = *r.Host.Spec.Image
	r.Host.Status.PoweredOn = true
	r.Server = Server{PoweredOn: true, Boots: 1, Disk: Disk{Image: imageURL, Drive: configdrive.Contents{UserData: "secret"}}}
}

func uncleaned(r *rack) { r.Host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled }

func deleted(r *rack) { r.Host.DeletionTimestamp = &metav1.Time{Time: start} }

// step takes one step and applies it, as the controller would.
func (r *rack) step() Step {
	if WantsDrive(r.Observed) {
		r.Drive = configdrive.Contents{UserData: "secret"}
	}
	s := Next(r.Observed)
	r.Host = r.Host.DeepCopy()
	r.Host.Status, r.Server = s.Status, s.Server
	for _, key := range s.DropAnnotations {
		delete(r.Host.Annotations, key)
	}
	return s
}

// line is the host and its server in a few words.
func (r *rack) line() string {
	power := map[bool]string{true: "on", false: "off"}
	out := fmt.Sprintf("%s %s", r.Host.Status.Provisioning.State, power[r.Host.Status.PoweredOn])
	if r.Server.PoweredOn != r.Host.Status.PoweredOn {
		out += ", really " + power[r.Server.PoweredOn]
	}
	if r.Host.Status.OperationalStatus != bmov1alpha1.OperationalStatusOK {
		out += ", " + string(r.Host.Status.OperationalStatus)
	}
	if r.Host.Status.ErrorType != "" {
		out += " " + string(r.Host.Status.ErrorType)
	}
	if !r.Server.Disk.Empty() {
		out += ", disk " + r.Server.Disk.Image
	}
	return out + strings.Repeat(", wiped", r.Server.Disk.Wipes)
}

// until plays the host until it rests, or for the given time, and returns a line
// for whatever changed, with the seconds since start.
func (r *rack) until(limit time.Duration) []string {
	var lines []string
	for range 100 {
		before := r.line()
		annotations := len(r.Host.Annotations)
		s := r.step()
		if now := r.line(); now != before || annotations != len(r.Host.Annotations) {
			lines = append(lines, fmt.Sprintf("%ds %s", int(r.Now.Sub(start).Seconds()), now))
			if s.Wake.IsZero() {
				continue
			}
		}
		if s.DropFinalizer {
			return append(lines, "gone")
		}
		if s.Wake.IsZero() || s.Wake.After(start.Add(limit)) {
			if r.line() == before {
				return lines
			}
			continue
		}
		r.Now = s.Wake
	}
	return append(lines, "and so on")
}

func TestNext(t *testing.T) {
	tests := map[string]struct {
		given *rack
		want  []string
	}{
		"registers, inspects, prepares and rests": {
			newRack(""),
			[]string{"0s registering off", "1s inspecting off", "2s preparing off", "3s available off, wiped"},
		},
		"waits for a BMC": {
			newRack("", func(r *rack) { r.Host.Spec.BMC = bmov1alpha1.BMCDetails{} }),
			[]string{"0s unmanaged off, discovered"},
		},
		"skips an inspection that is switched off": {
			newRack(bmov1alpha1.StateRegistering, func(r *rack) { r.Host.Spec.InspectionMode = bmov1alpha1.InspectionModeDisabled }),
			[]string{"1s preparing off", "2s available off, wiped"},
		},
		"leaves an externally provisioned server its system, and manages its power": {
			newRack(bmov1alpha1.StateRegistering, online, func(r *rack) { r.Host.Spec.ExternallyProvisioned = true }),
			[]string{"1s externally provisioned off", "2s externally provisioned on"},
		},
		"is switched on while it is free": {
			newRack(bmov1alpha1.StateAvailable, online), []string{"1s available on"},
		},
		"does not provision a server that is to be off": {
			newRack(bmov1alpha1.StateAvailable, asked), nil,
		},
		"provisions and boots": {
			newRack(bmov1alpha1.StateAvailable, online, asked),
			[]string{
				"0s provisioning off", "1s provisioned off, really on, disk " + imageURL, "1s provisioned on, disk " + imageURL,
			},
		},
		"deprovisions and wipes when the image is taken away": {
			newRack(bmov1alpha1.StateProvisioned, running, func(r *rack) { r.Host.Spec.Image, r.Host.Spec.Online = nil, false }),
			[]string{
				"0s deprovisioning on, disk " + imageURL, "1s available on, really off, wiped", "1s available off, wiped",
			},
		},
		"leaves the data of the former tenant where cleaning is off": {
			newRack(bmov1alpha1.StateProvisioned, running, uncleaned, func(r *rack) { r.Host.Spec.Image, r.Host.Spec.Online = nil, false }),
			[]string{
				"0s deprovisioning on, disk " + imageURL, "1s available on, really off, disk " + imageURL, "1s available off, disk " + imageURL,
			},
		},
		"stops provisioning when the image is taken away": {
			newRack(bmov1alpha1.StateProvisioning), []string{"0s deprovisioning off", "1s available off, wiped"},
		},
		"switches off softly, which takes its time": {
			newRack(bmov1alpha1.StateProvisioned, running, func(r *rack) { r.Host.Spec.Online = false }),
			[]string{"5s provisioned off, disk " + imageURL},
		},
		"reboots once": {
			newRack(bmov1alpha1.StateProvisioned, running, with(`reboot.metal3.io={"mode":"hard"}`)),
			[]string{"1s provisioned off, disk " + imageURL, "1s provisioned off, disk " + imageURL, "2s provisioned on, disk " + imageURL},
		},
		"stays off as long as an annotation holds it": {
			newRack(bmov1alpha1.StateProvisioned, running, with("reboot.metal3.io/x=")), []string{"5s provisioned off, disk " + imageURL},
		},
		"reboots a free server only by force": {
			newRack(bmov1alpha1.StateAvailable, online, with(`reboot.metal3.io/a={"mode":"hard"}`), func(r *rack) {
				r.Server.PoweredOn, r.Host.Status.PoweredOn = true, true
			}), nil,
		},
		"reboots a free server by force": {
			newRack(bmov1alpha1.StateAvailable, online, with(`reboot.metal3.io={"force":true}`), func(r *rack) {
				r.Server.PoweredOn, r.Host.Status.PoweredOn = true, true
			}), []string{"5s available off", "5s available off", "6s available on"},
		},
		"forgets every reboot when it is provisioned": {
			newRack(bmov1alpha1.StateProvisioning, online, asked, with("reboot.metal3.io=", "reboot.metal3.io/held=")),
			[]string{"0s provisioning off", "1s provisioned off, really on, disk " + imageURL, "1s provisioned on, disk " + imageURL},
		},
		"inspects again on request": {
			newRack(bmov1alpha1.StateAvailable, with("inspect.metal3.io=")),
			[]string{"0s inspecting off", "0s inspecting off", "1s preparing off", "2s available off, wiped"},
		},
		"stands still while it is paused": {
			newRack(bmov1alpha1.StateProvisioned, running, deleted, with("baremetalhost.metal3.io/paused=")), nil,
		},
		"stands still while it is detached": {
			newRack(bmov1alpha1.StateProvisioned, running, with("baremetalhost.metal3.io/detached="), func(r *rack) { r.Host.Spec.Image = nil }),
			[]string{"0s provisioned on, detached, disk " + imageURL},
		},
		"is detached only when nothing is under way": {
			newRack(bmov1alpha1.StateInspecting, with("baremetalhost.metal3.io/detached=")),
			[]string{"1s preparing off", "2s available off, wiped", "2s available off, detached, wiped"},
		},
		"goes on when it is attached again": {
			newRack(bmov1alpha1.StateProvisioned, running, func(r *rack) {
				r.Host.Status.OperationalStatus = bmov1alpha1.OperationalStatusDetached
				r.Host.Spec.Online = false
			}),
			[]string{"0s provisioned on, disk " + imageURL, "5s provisioned off, disk " + imageURL},
		},
		"is wiped and switched off before it goes": {
			newRack(bmov1alpha1.StateProvisioned, running, deleted),
			[]string{
				"0s deprovisioning on, disk " + imageURL, "1s powering off before delete on, really off, wiped",
				"2s deleting off, wiped", "gone",
			},
		},
		"goes as it is when it is detached": {
			newRack(bmov1alpha1.StateProvisioned, running, deleted, with("baremetalhost.metal3.io/detached="), func(r *rack) {
				r.Host.Status.OperationalStatus = bmov1alpha1.OperationalStatusDetached
			}),
			[]string{"0s deleting on, detached, disk " + imageURL, "gone"},
		},
		"fails to provision, is deprovisioned and tries again": {
			newRack(bmov1alpha1.StateProvisioning, online, asked, with("hostsim.metal3.io/fail=provisioning")),
			[]string{
				"1s provisioning off, error provisioning error", "61s deprovisioning off", "62s available off, wiped",
				"62s provisioning off, wiped", "63s provisioning off, error provisioning error, wiped",
			},
		},
		"fails to power on, twice as long apart": {
			newRack(bmov1alpha1.StateProvisioned, running, with("hostsim.metal3.io/fail=power"), func(r *rack) {
				r.Server.PoweredOn, r.Host.Status.PoweredOn = false, false
			}),
			[]string{
				"1s provisioned off, error power management error, disk " + imageURL, "61s provisioned off, disk " + imageURL,
				"62s provisioned off, error power management error, disk " + imageURL,
			},
		},
		"cannot deprovision": {
			newRack(bmov1alpha1.StateDeprovisioning, with("hostsim.metal3.io/fail=deprovisioning,other")),
			[]string{
				"1s deprovisioning off, error provisioning error", "61s deprovisioning off",
				"62s deprovisioning off, error provisioning error",
			},
		},
		"recovers as soon as nothing makes it fail": {
			newRack(bmov1alpha1.StateDeprovisioning, func(r *rack) {
				r.Host.Status.OperationalStatus, r.Host.Status.ErrorType = bmov1alpha1.OperationalStatusError, bmov1alpha1.ProvisioningError
				r.Server.Job = Job{Operation: Deprovisioning, Failed: true, Ends: start.Add(time.Hour)}
			}),
			[]string{"0s deprovisioning off", "1s available off, wiped"},
		},
		"takes as long as its host says": {
			newRack(bmov1alpha1.StateAvailable, online, asked, with("hostsim.metal3.io/delay=provisioning=20s")),
			[]string{
				"0s provisioning off", "20s provisioned off, really on, disk " + imageURL, "20s provisioned on, disk " + imageURL,
			},
		},
		"is rebooted in place where it must never be off": {
			newRack(bmov1alpha1.StateProvisioned, running, with("reboot.metal3.io="), func(r *rack) { r.Host.Spec.DisablePowerOff = true }),
			[]string{"1s provisioned on, disk " + imageURL},
		},
		"is switched on where it must never be off": {
			newRack(bmov1alpha1.StateAvailable, online, func(r *rack) { r.Host.Spec.DisablePowerOff = true }),
			[]string{"1s available on"},
		},
		"goes at once before it is registered": {
			newRack(bmov1alpha1.StateRegistering, deleted), []string{"0s deleting off", "gone"},
		},
		"is switched off before it goes while it is free": {
			newRack(bmov1alpha1.StateAvailable, deleted), []string{"0s powering off before delete off", "1s deleting off", "gone"},
		},
		"is prepared when its own system is given up": {
			newRack(bmov1alpha1.StateExternallyProvisioned), []string{"0s preparing off", "1s available off, wiped"},
		},
		"becomes externally provisioned while it is free": {
			newRack(bmov1alpha1.StateAvailable, func(r *rack) { r.Host.Spec.ExternallyProvisioned = true }),
			[]string{"0s externally provisioned off"},
		},
		"is deployed by a method of its own, and anew by another one": {
			newRack(bmov1alpha1.StateProvisioned, online, func(r *rack) {
				r.Host.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "second"}
				r.Host.Status.Provisioning.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "first"}
				r.Server = Restored(r.Host)
			}),
			[]string{
				"0s deprovisioning off, disk ", "1s available off, wiped", "1s provisioning off, wiped",
				"2s provisioned off, really on, disk , wiped", "2s provisioned on, disk , wiped",
			},
		},
		"comes from another cluster as it was": {
			newRack("", running, func(r *rack) {
				r.Host.Status, r.Server = bmov1alpha1.BareMetalHostStatus{}, Server{}
				with(`baremetalhost.metal3.io/status={"operationalStatus":"OK","poweredOn":true,"provisioning":{"state":"provisioned","image":{"url":"` + imageURL + `"}}}`)(r)
			}),
			[]string{"0s provisioned on, disk " + imageURL},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, tc.given.until(70*time.Second)) })
	}
}

func TestErrorsNameTheBMC(t *testing.T) {
	r := newRack(bmov1alpha1.StateInspecting, with("hostsim.metal3.io/fail=inspection"))
	r.until(2 * time.Second)
	if got := r.Host.Status; got.ErrorType != bmov1alpha1.InspectionError || got.ErrorCount != 1 || !strings.Contains(got.ErrorMessage, "192.0.2.7") {
		t.Errorf("error %q %q, %d times", got.ErrorType, got.ErrorMessage, got.ErrorCount)
	}
}

func TestMissingSecretIsAProvisioningError(t *testing.T) {
	r := newRack(bmov1alpha1.StateProvisioning, online, asked)
	r.DriveProblem = `secret "user-data", key "userData": the secret does not exist`
	r.until(2 * time.Second)
	if got := r.Host.Status; got.ErrorType != bmov1alpha1.ProvisioningError || !strings.HasSuffix(got.ErrorMessage, r.DriveProblem) {
		t.Errorf("error %q %q", got.ErrorType, got.ErrorMessage)
	}
}

func TestDiskHoldsWhatTheSecretsHeldAtTheStart(t *testing.T) {
	r := newRack(bmov1alpha1.StateProvisioning, online, asked)
	r.step()
	r.Drive = configdrive.Contents{UserData: "rotated"}
	r.until(2 * time.Second)
	expect.Equal(t, Disk{Image: imageURL, Drive: configdrive.Contents{UserData: "secret"}}, r.Server.Disk)
}

func TestInspectionPublishesHardware(t *testing.T) {
	r := newRack(bmov1alpha1.StateInspecting)
	r.step()
	r.Now = r.Now.Add(time.Second)
	if s := r.step(); !s.Publish || len(s.Status.HardwareDetails.NIC) == 0 {
		t.Errorf("publish %v with %+v", s.Publish, s.Status.HardwareDetails)
	}
}

func TestKnownHardwareStandsInForAnInspection(t *testing.T) {
	r := newRack(bmov1alpha1.StatePreparing, func(r *rack) {
		r.Host.Spec.InspectionMode, r.Host.Status.HardwareDetails = bmov1alpha1.InspectionModeDisabled, nil
		r.Known = &bmov1alpha1.HardwareDetails{Hostname: "known"}
	})
	r.until(2 * time.Second)
	if got := r.Host.Status.HardwareDetails; got == nil || got.Hostname != "known" {
		t.Errorf("hardware %+v", got)
	}
}

func TestHardwareOfTheAdministratorIsTakenOver(t *testing.T) {
	r := newRack(bmov1alpha1.StateAvailable, with(`inspect.metal3.io/hardwaredetails={"hostname":"by hand"}`), func(r *rack) {
		r.Host.Spec.InspectionMode = bmov1alpha1.InspectionModeDisabled
	})
	if s := r.step(); s.Status.HardwareDetails.Hostname != "by hand" || len(s.DropAnnotations) != 1 {
		t.Errorf("hardware %+v, dropped %v", s.Status.HardwareDetails, s.DropAnnotations)
	}
}

func TestFinalizerComesFirst(t *testing.T) {
	r := newRack("", func(r *rack) { r.Host.Finalizers, r.Host.Status = nil, bmov1alpha1.BareMetalHostStatus{} })
	expect.Equal(t, Step{AddFinalizer: true}, Next(r.Observed))
}

func TestConditions(t *testing.T) {
	tests := map[string]struct {
		given *rack
		want  string
	}{
		"of a host without a BMC": {
			newRack("", func(r *rack) { r.Host.Spec.BMC = bmov1alpha1.BMCDetails{} }),
			"AvailableForProvisioning=False/NotAvailable Healthy=Unknown/Unknown Manageable=False/NotManaged " +
				"Progressing=False/NotProgressing Provisioned=False/NotProvisioned Ready=False/NotProvisioned",
		},
		"of a host that is free": {
			newRack(bmov1alpha1.StateAvailable),
			"AvailableForProvisioning=True/Available Healthy=True/Healthy Manageable=True/Manageable " +
				"Progressing=False/NotProgressing Provisioned=False/NotProvisioned Ready=False/NotProvisioned",
		},
		"of a host that runs": {
			newRack(bmov1alpha1.StateProvisioned, running),
			"AvailableForProvisioning=False/NotAvailable Healthy=True/Healthy Manageable=True/Manageable " +
				"Progressing=False/NotProgressing Provisioned=True/Provisioned Ready=True/Provisioned",
		},
		"of a host that is being inspected": {
			newRack(bmov1alpha1.StateInspecting),
			"AvailableForProvisioning=False/NotAvailable Healthy=True/Healthy Manageable=True/Manageable " +
				"Progressing=True/Inspecting Provisioned=False/NotProvisioned Ready=False/NotProvisioned",
		},
		"of a host that is detached": {
			newRack(bmov1alpha1.StateProvisioned, running, with("baremetalhost.metal3.io/detached=")),
			"AvailableForProvisioning=False/NotAvailable Healthy=True/Healthy Manageable=True/Manageable " +
				"Progressing=False/Detached Provisioned=True/Provisioned Ready=False/Detached",
		},
		"of a host that does not switch on": {
			newRack(bmov1alpha1.StateProvisioned, running, with("hostsim.metal3.io/fail=power", "hostsim.metal3.io/delay=power=0s"), func(r *rack) {
				r.Server.PoweredOn, r.Host.Status.PoweredOn = false, false
			}),
			"AvailableForProvisioning=False/NotAvailable Healthy=True/Healthy Manageable=False/PowerFailure " +
				"Progressing=False/NotProgressing Provisioned=True/Provisioned Ready=False/Error",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			conditions := Next(tc.given.Observed).Status.Conditions
			for _, c := range conditions {
				got = append(got, c.Type+"="+string(c.Status)+"/"+c.Reason)
			}
			expect.Equal(t, tc.want, strings.Join(got, " "))
			if meta.FindStatusCondition(conditions, bmov1alpha1.ReadyCondition).LastTransitionTime.IsZero() {
				t.Error("a condition has no time")
			}
		})
	}
}

func TestParseDelays(t *testing.T) {
	tests := map[string]struct {
		text    string
		want    Delays
		wantErr bool
	}{
		"takes nothing":               {"", Delays{}, false},
		"takes operations and groups": {"power=1s, provisioning=2m", Delays{PowerOn: time.Second, SoftOff: time.Second, HardOff: time.Second, Provisioning: 2 * time.Minute}, false},
		"lets the last word win":      {"power=1s,soft-off=3s", Delays{PowerOn: time.Second, SoftOff: 3 * time.Second, HardOff: time.Second}, false},
		"refuses unknown operations":  {"dancing=1s", nil, true},
		"refuses what is no duration": {"power", nil, true},
		"refuses the past":            {"power=-1s", nil, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDelays(tc.text)
			expect.Equal(t, tc.want, got)
			expect.Equal(t, tc.wantErr, err != nil)
		})
	}
}
