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
	"crypto/sha256"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
)

// keys are those that an outline shows.
var keys = [...]string{
	secretkeys.UserData, secretkeys.MetaData, secretkeys.NetworkData, secretkeys.Bootstrap,
	corev1.DockerConfigJsonKey, corev1.DockerConfigKey,
}

// Outline returns a Secret without its content: name, UID, version, type, controller, the
// labels that New was given, and those of the keys that servers read, each with the SHA-256 of its
// value, or nothing where that is empty. It reads the Secret live, once for all callers that ask at
// a time, unless the watch of its namespace shows that it is as it was when it was last read, or that
// there is none; a change that the watch does not show yet wakes its subscribers soon. A Secret that
// does not exist is apierrors.IsNotFound.
func (w *Watch) Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	l := w.loopOf(key.Namespace)
	if known, found := l.outlineOf(key.Name); found {
		if known == nil {
			return nil, apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
		}
		return known.DeepCopy(), nil
	}
	// A read that began before the watch showed the version of this moment is not good enough.
	version, _ := w.Version(key)
	found, err, _ := w.reads.Do(key.String()+"/"+version, func() (any, error) {
		secret := &corev1.Secret{}
		if err := live.Get(ctx, key, secret); err != nil {
			if apierrors.IsNotFound(err) {
				l.forget(key.Name)
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

// Version returns the resourceVersion of a Secret as the watch of its namespace shows it, empty
// if it shows none of that name. It is not known while changes are not streamed.
func (w *Watch) Version(key client.ObjectKey) (version string, known bool) {
	l := w.loopOf(key.Namespace)
	if l == nil {
		return "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[key.Name], l.following
}

// Read notes the outline of a Secret as the API server has just returned it, and
// returns it.
func (w *Watch) Read(secret *corev1.Secret) *corev1.Secret {
	o := w.outline(secret)
	w.loopOf(secret.Namespace).note(o)
	return o.DeepCopy()
}

// outline keeps what is documented at Outline, and no more: a bounded number of bytes,
// whatever the Secret holds.
func (w *Watch) outline(secret *corev1.Secret) *corev1.Secret {
	o := &corev1.Secret{Data: map[string][]byte{}}
	o.Name, o.Namespace, o.UID, o.ResourceVersion = secret.Name, secret.Namespace, secret.UID, secret.ResourceVersion
	if owner := metav1.GetControllerOf(secret); owner != nil {
		o.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	o.Type = secret.Type
	for _, key := range w.labels {
		if value, found := secret.Labels[key]; found {
			metav1.SetMetaDataLabel(&o.ObjectMeta, key, value)
		}
	}
	for _, key := range keys {
		if value, found := secret.Data[key]; found {
			o.Data[key] = nil
			if len(value) > 0 {
				sum := sha256.Sum256(value)
				o.Data[key] = sum[:]
			}
		}
	}
	return o
}

// loopOf is the loop of a namespace; nil if it is not watched.
func (w *Watch) loopOf(namespace string) *loop {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.namespaces[namespace].loop
}

// outlineOf returns what is known of a Secret; a nil Secret means that there is none.
// Nothing is known while the stream of changes is interrupted, of a Secret that has
// changed since it was read, and of one that was read and has not been seen yet.
func (l *loop) outlineOf(name string) (*corev1.Secret, bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	version, seen := l.known[name]
	noted := l.outlines[name]
	switch {
	case !l.following:
		return nil, false
	case noted == nil:
		return nil, !seen
	default:
		return noted, seen && noted.ResourceVersion == version
	}
}

// note keeps an outline until the watch shows another version of the Secret.
func (l *loop) note(o *corev1.Secret) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outlines[o.Name] = o
}

// forget drops the outline of a Secret.
func (l *loop) forget(name string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.outlines, name)
}

// follows notes whether changes are streamed.
func (l *loop) follows(now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.following = now
}
