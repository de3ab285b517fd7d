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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
)

// maxDelay bounds the pause before a namespace that refused a request is tried again: the manager
// cannot watch the RoleBinding that it lacks.
const maxDelay = 4500 * time.Millisecond

// maxAnnotation is the length of the longest annotation that is kept: a namespace and a name fit in.
const maxAnnotation = 320

// dataKeys are those that an outline shows.
var dataKeys = [...]string{
	secretkeys.UserData, secretkeys.MetaData, secretkeys.NetworkData, secretkeys.Bootstrap,
	corev1.DockerConfigJsonKey, corev1.DockerConfigKey,
}

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
func newReflector(api metadata.Interface, namespace string, s *store) *cache.Reflector {
	secrets := api.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
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
	return cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(requests, api), &metav1.PartialObjectMetadata{}, s,
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

// Outline returns a Secret without its content: name, UID, version, type, controller, the
// labels and annotations that New was given, and those of the keys that servers read, each with the digest of its
// value. It reads the Secret live, once for all callers that ask at
// a time, unless the watch of its namespace shows that it is as it was when it was last read, or that
// there is none; a change that the watch does not show yet wakes its subscribers soon. A Secret that
// does not exist is apierrors.IsNotFound.
func (w *Watch) Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	s := w.storeOf(key.Namespace)
	seen, outline, known := s.look(key.Name)
	switch {
	case known && seen == nil:
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	case known && outline != nil:
		return outline.DeepCopy(), nil
	}
	// A read that began before the watch showed the current version may be outdated.
	read := key.String()
	if seen != nil {
		read += "/" + seen.ResourceVersion
	}
	found, err, _ := w.reads.Do(read, func() (any, error) {
		secret := &corev1.Secret{}
		if err := live.Get(ctx, key, secret); err != nil {
			if apierrors.IsNotFound(err) {
				s.note(key.Name, nil)
			}
			return nil, err
		}
		return w.Read(secret), nil
	})
	secret, ok := found.(*corev1.Secret)
	if err != nil || !ok {
		return nil, err
	}
	return secret.DeepCopy(), nil
}

// Metadata returns name, UID, version, and the labels and annotations that New was given, of a Secret; it is empty if
// there is none. It is read live where the watch does not know it.
func (w *Watch) Metadata(ctx context.Context, live client.Reader, key client.ObjectKey) (metav1.ObjectMeta, error) {
	seen, _, known := w.storeOf(key.Namespace).look(key.Name)
	switch {
	case !known:
		return secretcopy.Metadata(ctx, live, key)
	case seen == nil:
		return metav1.ObjectMeta{}, nil
	default:
		return *seen.DeepCopy(), nil
	}
}

// Read notes the outline of a Secret as the API server has just returned it, and
// returns it.
func (w *Watch) Read(secret *corev1.Secret) *corev1.Secret {
	o := w.outline(secret)
	w.storeOf(secret.Namespace).note(o.Name, o)
	return o.DeepCopy()
}

// outline keeps what is documented at Outline, and no more: a bounded number of bytes,
// whatever the Secret holds.
func (w *Watch) outline(secret *corev1.Secret) *corev1.Secret {
	o := &corev1.Secret{ObjectMeta: w.strip(&secret.ObjectMeta), Type: secret.Type, Data: map[string][]byte{}}
	if owner := metav1.GetControllerOf(secret); owner != nil {
		o.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	for _, key := range dataKeys {
		if value, found := secret.Data[key]; found {
			o.Data[key] = secretkeys.Digest(value)
		}
	}
	return o
}

// strip returns what is kept of the metadata of a Secret: a bounded number of bytes, too.
func (w *Watch) strip(o *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace, UID: o.UID, ResourceVersion: o.ResourceVersion}
	for _, key := range w.keys {
		if value, found := o.Labels[key]; found {
			metav1.SetMetaDataLabel(&kept, key, value)
		}
		if value, found := o.Annotations[key]; found && len(value) <= maxAnnotation {
			metav1.SetMetaDataAnnotation(&kept, key, value)
		}
	}
	return kept
}

// storeOf returns the store of a namespace; nil if it is not watched.
func (w *Watch) storeOf(namespace string) *store {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, found := w.namespaces[namespace]; found {
		return n.store
	}
	return nil
}
