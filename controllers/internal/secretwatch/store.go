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

package secretwatch

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// maxDelay bounds the pause before a namespace that refused a request is tried again: the manager
// cannot watch the RoleBinding that it lacks.
const maxDelay = 4500 * time.Millisecond

// store is what the reflector of one namespace has seen.
type store struct {
	// changed is called with the name of each Secret that appeared, changed or disappeared. A list calls it
	// with an empty name, which stands for what disappeared, and with the names of all Secrets.
	changed func(name string)
	// strip returns what is kept of metadata.
	strip func(*metav1.ObjectMeta) metav1.ObjectMeta

	mu sync.Mutex
	// seen is the metadata of all Secrets by name; nil before the first list.
	seen map[string]*metav1.ObjectMeta
	// outlines are Secrets that were read or written, by name. One of another version than the one in
	// seen is not used.
	outlines map[string]*corev1.Secret
	// interrupted is set while the API server refuses to list or to watch.
	interrupted bool
}

// newReflector returns a reflector that fills the store from a namespace.
func newReflector(client metadata.Interface, namespace string, s *store) *cache.Reflector {
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	requests := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := secrets.List(ctx, options)
			s.answered(err, false)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			stream, err := secrets.Watch(ctx, options)
			s.answered(err, options.SendInitialEvents == nil)
			return stream, err
		},
	}
	return cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(requests, client), &metav1.PartialObjectMetadata{}, s,
		cache.ReflectorOptions{
			Name:    "Secrets of namespace " + namespace,
			Backoff: &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 10, Cap: maxDelay},
		})
}

// answered notes whether a request worked, and whether what the store holds is up to date then.
func (s *store) answered(err error, current bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted = err != nil || s.interrupted && !current
}

// Add implements cache.ReflectorStore.
func (s *store) Add(object any) error {
	if o, ok := object.(*metav1.PartialObjectMetadata); ok {
		kept := s.strip(&o.ObjectMeta)
		s.mu.Lock()
		s.seen[o.Name] = &kept
		s.mu.Unlock()
		s.changed(o.Name)
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (s *store) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s *store) Delete(object any) error {
	if o, ok := object.(*metav1.PartialObjectMetadata); ok {
		s.mu.Lock()
		delete(s.seen, o.Name)
		delete(s.outlines, o.Name)
		s.mu.Unlock()
		s.changed(o.Name)
	}
	return nil
}

// Replace implements cache.ReflectorStore. The reflector lists when it begins, and after it was refused.
func (s *store) Replace(objects []any, _ string) error {
	seen := map[string]*metav1.ObjectMeta{}
	for _, object := range objects {
		if o, ok := object.(*metav1.PartialObjectMetadata); ok {
			kept := s.strip(&o.ObjectMeta)
			seen[o.Name] = &kept
		}
	}
	s.mu.Lock()
	maps.DeleteFunc(s.outlines, func(name string, o *corev1.Secret) bool {
		return seen[name] == nil || seen[name].ResourceVersion != o.ResourceVersion
	})
	s.seen, s.interrupted = seen, false
	s.mu.Unlock()
	s.changed("")
	for name := range seen {
		s.changed(name)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *store) Resync() error { return nil }

// look returns the metadata and the outline of a Secret, each nil if there is none. Nothing is known
// before the first list, while the watch is interrupted, and of a Secret that was read or written as a version
// that the watch does not show.
func (s *store) look(name string) (seen *metav1.ObjectMeta, outline *corev1.Secret, known bool) {
	if s == nil {
		return nil, nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, outline = s.seen[name], s.outlines[name]
	known = s.seen != nil && !s.interrupted && (outline == nil || seen != nil && seen.ResourceVersion == outline.ResourceVersion)
	return seen, outline, known
}

// note keeps an outline until the Secret is seen to be deleted; nil drops the one that is kept.
func (s *store) note(name string, outline *corev1.Secret) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if outline == nil {
		delete(s.outlines, name)
	} else {
		s.outlines[name] = outline
	}
}
