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

package setup

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup/kubeconfigreader"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// hostileWords are text of a workload cluster that misleads a reader of logs.
const hostileWords = "all-is-well"

// logged is all that is logged in this package, also by client-go.
var logged lines

func TestMain(m *testing.M) {
	klog.SetLogger(logged.logger())
	os.Exit(m.Run())
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		fmt.Fprintln(&l.text, prefix, args)
	}, funcr.Options{})
}

// from returns a function that returns what is logged from now on.
func (l *lines) from() func() string {
	all := func() string {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.text.String()
	}
	before := len(all())
	return func() string { return all()[before:] }
}

// workload is a workload cluster with one Node. It is a server with TLS that knows as
// much of the API as ClusterCache asks for.
type workload struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string // paths
	foreign  []string // paths of requests without the token
	refused  []client.ObjectKey
}

// newWorkload starts a workload cluster, of which some paths are answered otherwise.
func newWorkload(t *testing.T, otherwise map[string]http.HandlerFunc) *workload {
	t.Helper()
	w := &workload{}
	node := corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1"}}
	mark := node
	mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	event := func(kind string, of corev1.Node) any { return map[string]any{"type": kind, "object": of} }
	answers := map[string][]any{
		"/":       {map[string]any{"paths": []string{"/api"}}},
		"/api":    {metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}},
		"/apis":   {metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}},
		"/api/v1": {metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "nodes", Kind: "Node"}}}},
		// A list that is streamed, which client-go asks for.
		"/api/v1/nodes": {event("ADDED", node), event("BOOKMARK", mark)},
	}
	w.Server = httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.note(r)
		if answer := otherwise[r.URL.Path]; answer != nil {
			answer(out, r)
			return
		}
		out.Header().Set("Content-Type", "application/json")
		for _, part := range answers[r.URL.Path] {
			if err := json.NewEncoder(out).Encode(part); err != nil {
				return
			}
		}
		if r.URL.Query().Get("watch") != "" {
			_ = http.NewResponseController(out).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

func (w *workload) note(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, r.URL.Path)
	if r.Header.Get("Authorization") != "Bearer s3cret" || r.UserAgent() != userAgent {
		w.foreign = append(w.foreign, r.URL.Path)
	}
}

func (w *workload) noteRefused(cluster client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, cluster)
}

// asked is how often a path was asked for.
func (w *workload) asked(path string) int {
	return len(slices.DeleteFunc(w.all(), func(p string) bool { return p != path }))
}

// all are the paths that were asked for.
func (w *workload) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// withToken is a user who is identified by a token.
const withToken = "token: s3cret"

// connect has a ClusterCache connect to a workload cluster as a user of its kubeconfig, and
// returns it and what is logged.
func (w *workload) connect(ctx context.Context, t *testing.T, user string, denied []netip.Prefix) (clustercache.ClusterCache, func() string) {
	t.Helper()
	scheme, err := NewScheme()
	expect.NoError(t, err)
	key := client.ObjectKey{Namespace: "tenant", Name: "c"}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	authority, err := json.Marshal(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw}))
	expect.NoError(t, err)
	local := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "c-kubeconfig"},
		Data: map[string][]byte{"value": fmt.Appendf(nil, "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"+
			"clusters: [{name: k, cluster: {server: %q, certificate-authority-data: %s}}]\nusers: [{name: u, user: {%s}}]", w.URL, authority, user)},
	}).Build()

	said := logged.from()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Logger: logged.logger(),
		NewClient: func(*rest.Config, client.Options) (client.Client, error) { return local, nil },
	})
	expect.NoError(t, err)
	kubeconfigs, err := kubeconfigreader.New(kubeconfigreader.Options{
		Secrets: local, UserAgent: userAgent, Denied: func(context.Context) []netip.Prefix { return denied },
	})
	expect.NoError(t, err)
	kubeconfigs.OnRefused(w.noteRefused)
	quiet := quietManager{mgr}
	connections, err := clustercache.SetupWithManager(ctx, quiet, clusterCacheOptions(parse(t), kubeconfigs),
		controller.Options{SkipNameValidation: ptr.To(true)})
	expect.NoError(t, err)
	if c, ok := connections.(interface{ Shutdown() }); ok {
		t.Cleanup(c.Shutdown)
	}
	reconciler, ok := connections.(reconcile.Reconciler)
	expect.Must(t, ok, "%T reconciles nothing", connections)
	if _, err := reconciler.Reconcile(ctrl.LoggerInto(ctx, quiet.GetLogger()), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	return connections, said
}

// Each request of ClusterCache goes through the transport: the one that looks whether
// the server runs, discovery, lists and watches, and those of clients.
func TestClusterCacheConnects(t *testing.T) {
	w := newWorkload(t, nil)
	connections, said := w.connect(t.Context(), t, withToken, nil)
	key := client.ObjectKey{Namespace: "tenant", Name: "c"}
	reader, err := connections.GetReader(t.Context(), key)
	expect.Must(t, err == nil, "%v\n%s", err, said())
	expect.NoError(t, reader.Get(t.Context(), client.ObjectKey{Name: "n"}, &corev1.Node{}))
	writer, err := connections.GetUncachedClient(t.Context(), key)
	expect.NoError(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	expect.That(t, writer.Patch(t.Context(), node, client.RawPatch("application/merge-patch+json", []byte("{}"))) != nil, "this server answers a patch with nothing")
	for _, path := range []string{"/", "/api/v1", "/api/v1/nodes", "/api/v1/nodes/n"} {
		expect.That(t, w.asked(path) != 0, "nothing asked for %s", path)
	}
	expect.That(t, len(w.foreign) == 0, "requests past the transport: %v", w.foreign)
}

func TestHostileWorkloadClusters(t *testing.T) {
	other := newWorkload(t, nil)
	list := "/api/v1/nodes"
	for name, tt := range map[string]struct {
		path   string
		answer http.HandlerFunc
		user   string // instead of one with a token
		denied []netip.Prefix
		want   string
	}{
		"a server that redirects": {
			path: "/",
			answer: func(out http.ResponseWriter, r *http.Request) {
				http.Redirect(out, r, other.URL, http.StatusTemporaryRedirect)
			},
			want: "it redirects to another address",
		},
		"a server at a denied address": {path: "/", denied: addresses.Local(), want: "name an address outside"},
		"a token in a file of the manager": {
			path: "/", user: "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", want: "tokenFile is not permitted",
		},
		"a refusal with words of its own": {
			path: "/",
			answer: func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Warning", `299 - "`+hostileWords+`"`)
				http.Error(out, hostileWords, http.StatusForbidden)
			},
			want: "cluster is not reachable",
		},
		"an answer that is no API": {
			path: "/api/v1",
			answer: func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", "text/"+hostileWords)
				_, _ = io.WriteString(out, hostileWords)
			},
			want: "error getting REST mapping",
		},
		"300 MB in gzip": {path: list, answer: bomb, want: "larger than what this manager reads"},
		"Nodes without end": {
			path: list,
			answer: func(out http.ResponseWriter, r *http.Request) {
				out.Header().Set("Content-Type", "application/json")
				var err error
				for i := 0; err == nil && r.Context().Err() == nil; i++ {
					_, err = fmt.Fprintf(out, `{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"n-%d"}}}`+"\n", i)
				}
			},
			want: "more than 10,000 Nodes",
		},
		"a watch line without end": {
			path: list,
			answer: func(out http.ResponseWriter, r *http.Request) {
				out.Header().Set("Content-Type", "application/json")
				_, err := io.WriteString(out, `{"type":"ADDED","object":{"metadata":{"name":"`)
				for err == nil && r.Context().Err() == nil {
					_, err = io.WriteString(out, strings.Repeat(hostileWords, 1000))
				}
			},
			want: "larger than what this manager reads",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var w *workload
			w = newWorkload(t, map[string]http.HandlerFunc{tt.path: func(out http.ResponseWriter, r *http.Request) {
				if w.asked(list) > 1 {
					cancel() // it was tried once; ClusterCache would try for minutes
				}
				tt.answer(out, r)
			}})
			connections, said := w.connect(ctx, t, cmp.Or(tt.user, withToken), tt.denied)
			if _, err := connections.GetReader(t.Context(), client.ObjectKey{Namespace: "tenant", Name: "c"}); err == nil {
				t.Error("it is connected")
			}
			text := said()
			expect.That(t, strings.Contains(text, tt.want) && !strings.Contains(text, hostileWords) && len(text) <= 10_000, "logged, without %q: %.2000s", tt.want, text)
			if want := []client.ObjectKey{{Namespace: "tenant", Name: "c"}}; tt.path == list && !slices.Equal(w.refused, want) {
				t.Errorf("told of refusals of %s, want %s", w.refused, want)
			}
			expect.That(t, (tt.denied == nil && tt.user == "" || len(w.all()) == 0) && other.asked("/") == 0, "a server was asked that must not be")
		})
	}
}

// bomb answers with 300 MB that are 300 kB on the way.
func bomb(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Content-Encoding", "gzip")
	to := gzip.NewWriter(out)
	_, err := io.WriteString(to, `{"items":[{"x":{"y":"`)
	for i := 0; i < 300 && err == nil && r.Context().Err() == nil; i++ {
		_, err = io.WriteString(to, strings.Repeat("x", 1<<20))
	}
	_ = to.Close()
}
