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

package conformance

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

const (
	claimBody  = `{"spec":{"poweredOn":true,"hostSelector":{"matchLabels":{"rack":"a"}}}}`
	hostBody   = `{"metadata":{"finalizers":["baremetalhost.metal3.io"]},"spec":{"online":false,"bootMACAddress":"02:00:00:00:00:01"}}`
	policyBody = `{"spec":{"hostClaimNamespaces":{"names":["a"]}}}`
	// brief is the name of a claim that is deleted in the moment of its finalizer.
	brief = "brief"
	// condition is a condition as the API wants it.
	condition = `{"type":"Associated","status":"True","reason":"Because","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}`
)

func namespaces(p *player) {
	p.create("make the namespace", store.Namespaces, "", `{"metadata":{"labels":{"tier":"gold"}}}`)
	p.create("make the namespace again", store.Namespaces, "", `{}`)
	p.get("read it", store.Namespaces, "")
	p.patch("take its label", store.Namespaces, "", "", `{"metadata":{"labels":{"tier":null}}}`)
	p.patch("take the label that the server sets", store.Namespaces, "", "", `{"metadata":{"labels":{"kubernetes.io/metadata.name":null}}}`)
}

func claims(p *player) {
	p.get("read a claim that does not exist", store.Claims, "claim")
	p.patch("change a claim that does not exist", store.Claims, "claim", "", `{"spec":{"poweredOn":false}}`)
	p.patch("change the status of a claim that does not exist", store.Claims, "claim", "status", `{"status":{"poweredOn":true}}`)
	p.remove("delete a claim that does not exist", store.Claims, "claim", "", "")
	p.create("make a claim with a version", store.Claims, "claim", `{"metadata":{"resourceVersion":"1"},"spec":{"poweredOn":true}}`)
	p.create("make a claim with a status", store.Claims, "claim", `{"spec":{"poweredOn":true},"status":{"poweredOn":true}}`)
	p.create("make it again", store.Claims, "claim", claimBody)
	p.get("read it", store.Claims, "claim")
	p.patch("change nothing", store.Claims, "claim", "", `{"spec":{"poweredOn":true}}`)
	p.patch("change the spec", store.Claims, "claim", "", `{"spec":{"poweredOn":false}}`)
	p.patch("change only metadata", store.Claims, "claim", "", `{"metadata":{"annotations":{"a":"b"}}}`)
	p.patch("take the last annotation", store.Claims, "claim", "", `{"metadata":{"annotations":{"a":null}}}`)
	p.patch("merge deeply", store.Claims, "claim", "", `{"spec":{"hostSelector":{"matchLabels":{"x":"y","z":null}}}}`)
	p.patch("replace a list", store.Claims, "claim", "", `{"spec":{"hostSelector":{"matchExpressions":[{"key":"k","operator":"exists","values":[]}]}}}`)
	p.patch("take a list and a map", store.Claims, "claim", "", `{"spec":{"hostSelector":{"matchExpressions":null,"matchLabels":null}}}`)
	p.patch("write the status past the subresource", store.Claims, "claim", "", `{"status":{"poweredOn":true}}`)
	p.patch("write the generation", store.Claims, "claim", "", `{"metadata":{"generation":99}}`)
	p.patch("write the time of creation", store.Claims, "claim", "", `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"}}`)
	p.patch("take the time of creation", store.Claims, "claim", "", `{"metadata":{"creationTimestamp":null}}`)
	p.patch("write a time of deletion", store.Claims, "claim", "", `{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`)
	p.patch("take the identity", store.Claims, "claim", "", `{"metadata":{"uid":null}}`)
	p.patch("send no JSON", store.Claims, "claim", "", `{`)
}

func locks(p *player) {
	p.patch("lock with the version", store.Claims, "claim", "", `{"metadata":{"resourceVersion":"VERSION"},"spec":{"poweredOn":true}}`)
	p.patch("lock with an old version", store.Claims, "claim", "", `{"metadata":{"resourceVersion":"1"},"spec":{"poweredOn":false}}`)
	p.patch("lock the status with an old version", store.Claims, "claim", "status", `{"metadata":{"resourceVersion":"1"},"status":{"poweredOn":true}}`)
	p.patch("lock with an old version and change nothing", store.Claims, "claim", "", `{"metadata":{"resourceVersion":"1"}}`)
	p.patch("lock with the identity", store.Claims, "claim", "", `{"metadata":{"uid":"UID"},"spec":{"poweredOn":false}}`)
	p.patch("lock with another identity", store.Claims, "claim", "", `{"metadata":{"uid":"another"},"spec":{"poweredOn":true}}`)
	p.remove("delete another identity", store.Claims, "claim", "another", "")
	p.remove("delete an old version", store.Claims, "claim", "", "1")
}

func statuses(p *player) {
	p.patchStatus("hostclaim-manager", "write the status", `{"metadata":{"resourceVersion":"VERSION"},"status":{"bareMetalHost":{"namespace":"n","name":"h"},"conditions":[`+condition+`]}}`)
	p.patchStatus("hostclaim-manager", "write the same status", `{"metadata":{"resourceVersion":"VERSION"},"status":{"bareMetalHost":{"namespace":"n","name":"h"}}}`)
	p.patch("write the spec past the status", store.Claims, "claim", "status", `{"spec":{"poweredOn":true},"metadata":{"labels":{"a":"b"}}}`)
	p.patchStatus("other", "write a field of another", `{"status":{"bareMetalHost":{"name":"g"}}}`)
	p.patchStatus("other", "take all that is one's own", `{"status":{"bareMetalHost":null}}`)
	p.patchStatus("kubectl-edit", "wipe the status", `{"status":null}`)
	p.patchStatus("kubectl-edit", "wipe it again", `{"status":null}`)
	p.patchStatus("hostclaim-manager", "write the status anew", `{"status":{"poweredOn":true}}`)
}

func finalizers(p *player) {
	p.patch("put a finalizer on", store.Claims, "claim", "", `{"metadata":{"finalizers":["hostclaim.metal3.io/finalizer"]}}`)
	p.remove("delete with a finalizer", store.Claims, "claim", "UID", "")
	p.remove("delete once more", store.Claims, "claim", "", "")
	p.patch("put on another while deleting", store.Claims, "claim", "",
		`{"metadata":{"finalizers":["hostclaim.metal3.io/finalizer","example.com/other"]}}`)
	p.patch("change the spec while deleting", store.Claims, "claim", "", `{"spec":{"poweredOn":true}}`)
	p.patch("change the status while deleting", store.Claims, "claim", "status", `{"status":{"poweredOn":false}}`)
	p.patch("take the deletion back", store.Claims, "claim", "", `{"metadata":{"deletionTimestamp":null}}`)
	p.create("make one of that name meanwhile", store.Claims, "claim", claimBody)
	p.patch("take the last finalizer off, with an old version", store.Claims, "claim", "", `{"metadata":{"resourceVersion":"1","finalizers":null}}`)
	p.patch("take the last finalizer off", store.Claims, "claim", "", `{"metadata":{"resourceVersion":"VERSION","finalizers":null}}`)
	p.create("make one of that name afterwards", store.Claims, "claim", claimBody)
	p.remove("delete without a finalizer", store.Claims, "claim", "UID", "VERSION")
}

// deletions are judged by what was read before the object changed.
func deletions(p *player) {
	const ours = `{"metadata":{"finalizers":["hostclaim.metal3.io/finalizer"]}}`
	p.create("make a claim to delete", store.Claims, brief, claimBody)
	p.removeAround("delete it while a finalizer is put on", func() {
		p.patch("put a finalizer on while it is deleted", store.Claims, brief, "", ours)
		p.patch("write its status while it is deleted", store.Claims, brief, "status", `{"status":{"poweredOn":true}}`)
	})
	p.create("make it again", store.Claims, brief, claimBody)
	p.patch("put a finalizer on before", store.Claims, brief, "", ours)
	p.removeAround("delete it while the finalizer stays", func() {
		p.patch("change it while it is deleted", store.Claims, brief, "", `{"spec":{"poweredOn":false}}`)
	})
	p.patch("take the finalizer of what is deleted", store.Claims, brief, "", `{"metadata":{"finalizers":null}}`)
	p.create("make it once more", store.Claims, brief, claimBody)
	p.patch("put a finalizer on once more", store.Claims, brief, "", ours)
	p.removeAround("delete it while the finalizer goes", func() {
		p.patch("take the finalizer while it is deleted", store.Claims, brief, "", `{"metadata":{"finalizers":null}}`)
	})
	p.create("make it for the last time", store.Claims, brief, claimBody)
	p.removeAround("delete what is replaced meanwhile", func() {
		p.remove("delete it first", store.Claims, brief, "", "")
		p.create("make its namesake", store.Claims, brief, claimBody)
	})
	p.remove("delete the namesake", store.Claims, brief, "", "")
}

func hosts(p *player) {
	p.create("register a host", store.Hosts, "host", hostBody)
	p.get("read it", store.Hosts, "host")
	p.patch("bring it to rest", store.Hosts, "host", "status",
		`{"status":{"errorCount":0,"errorMessage":"","operationalStatus":"OK","hardwareProfile":"","poweredOn":false,`+
			`"goodCredentials":{},"triedCredentials":{},"operationHistory":{},"provisioning":{"ID":"","image":{"url":""},"state":"available"}}}`)
	p.patch("bind it", store.Hosts, "host", "",
		`{"metadata":{"resourceVersion":"VERSION","labels":{"hostclaim.metal3.io/claim-uid":"1"},"annotations":{"a":""}},`+
			`"spec":{"consumerRef":{"apiVersion":"metal3.io/v1alpha1","kind":"HostClaim","namespace":"n","name":"c","uid":"1"}}}`)
	p.patch("tell it what to write", store.Hosts, "host", "",
		`{"metadata":{"resourceVersion":"VERSION"},"spec":{"automatedCleaningMode":"metadata","online":true,`+
			`"image":{"url":"https://x.example.com","checksum":"abc"},"userData":{"namespace":"n","name":"s"}}}`)
	p.patch("take that back", store.Hosts, "host", "", `{"metadata":{"resourceVersion":"VERSION"},"spec":{"image":null,"userData":null,"online":false}}`)
	p.patch("set no cleaning mode", store.Hosts, "host", "", `{"spec":{"automatedCleaningMode":null}}`)
	p.patch("switch cleaning off", store.Hosts, "host", "", `{"spec":{"automatedCleaningMode":"disabled"}}`)
	p.patch("free it", store.Hosts, "host", "",
		`{"metadata":{"resourceVersion":"VERSION","annotations":null,"labels":{"hostclaim.metal3.io/claim-uid":null}},"spec":{"consumerRef":null}}`)
	p.remove("delete it", store.Hosts, "host", "", "")
	p.patch("let it go", store.Hosts, "host", "", `{"metadata":{"finalizers":[]}}`)
}

func policies(p *player) {
	p.create("make a policy", store.Policies, "policy", policyBody)
	p.get("read it", store.Policies, "policy")
	p.patch("admit others", store.Policies, "policy", "", `{"spec":{"hostClaimNamespaces":{"names":null,"nameMatches":"t.*"}}}`)
	p.patch("admit no namespace", store.Policies, "policy", "", `{"spec":{"hostClaimNamespaces":null}}`)
	p.list("list policies", store.Policies, store.Query{Namespace: p.namespace})
	p.remove("take it away", store.Policies, "policy", "", "")
}

func classes(p *player) {
	p.create("make a class", store.Classes, "", `{"spec":{"controllerName":"compute.example.com/machines","namespaceSelector":{}}}`)
	p.get("read it", store.Classes, "")
	p.patch("make it the default", store.Classes, "", "", `{"metadata":{"annotations":{"hostclaim.metal3.io/is-default-class":"true"}}}`)
	p.patch("narrow it", store.Classes, "", "", `{"spec":{"namespaceSelector":{"matchLabels":{"tier":"gold"}}}}`)
	p.patch("accept it", store.Classes, "", "status",
		`{"status":{"conditions":[{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	p.remove("take it away", store.Classes, "", "", "")
	p.get("read it once more", store.Classes, "")
}

func hardware(p *player) {
	p.create("publish facts", store.HardwareData, "facts", `{"metadata":{"labels":{"a":"b"}},"spec":{"hardware":{"hostname":"h"}}}`)
	p.create("publish them again", store.HardwareData, "facts", `{}`)
	p.get("read them", store.HardwareData, "facts")
	p.patch("correct them", store.HardwareData, "facts", "", `{"metadata":{"resourceVersion":"VERSION"},"spec":{"hardware":{"hostname":"i","ramMebibytes":5}}}`)
	p.list("list facts", store.HardwareData, store.Query{Namespace: p.namespace})
	p.remove("withdraw those of another", store.HardwareData, "facts", "another", "")
	p.remove("withdraw them", store.HardwareData, "facts", "UID", "")
}

func secrets(p *player) {
	p.get("read a secret that does not exist", store.Secrets, "copy")
	p.create("make a copy", store.Secrets, "copy", `{"metadata":{"labels":{"a":"b"}},"data":{"userData":"YQ=="}}`)
	p.create("make it again", store.Secrets, "copy", `{"data":{"userData":"YQ=="}}`)
	p.get("read it", store.Secrets, "copy")
	p.patch("change nothing", store.Secrets, "copy", "", `{"data":{"userData":"YQ=="}}`)
	p.patch("renew it", store.Secrets, "copy", "", `{"metadata":{"resourceVersion":"VERSION"},"data":{"userData":"Yg==","more":"Yw=="}}`)
	p.patch("renew an old version", store.Secrets, "copy", "", `{"metadata":{"resourceVersion":"1"},"data":{"userData":"YQ=="}}`)
	p.patch("take a key", store.Secrets, "copy", "", `{"data":{"more":null}}`)
	p.remove("delete that of another", store.Secrets, "copy", "another", "")
	p.remove("delete it", store.Secrets, "copy", "UID", "")
}

func lists(p *player) {
	for i, name := range []string{"one", "two", "three"} {
		rack := []string{"a", "b", "a"}[i]
		p.create("register host "+name, store.Hosts, name, `{"metadata":{"labels":{"rack":"`+rack+`"}},"spec":{"online":false}}`)
		p.create("make claim "+name, store.Claims, name, claimBody)
	}
	only := labels.SelectorFromSet(labels.Set{"rack": "a"})
	p.list("list hosts", store.Hosts, store.Query{Namespace: p.namespace})
	p.list("list hosts by label", store.Hosts, store.Query{Namespace: p.namespace, Selector: only})
	p.list("list hosts by label everywhere", store.Hosts, store.Query{Selector: only})
	p.list("list hosts by pages", store.Hosts, store.Query{Namespace: p.namespace, Limit: 2})
	p.list("list claims by pages", store.Claims, store.Query{Namespace: p.namespace, Limit: 1})
	p.list("list what is not there", store.Secrets, store.Query{Namespace: p.namespace, Selector: only})
}
