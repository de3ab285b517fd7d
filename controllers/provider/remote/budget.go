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

package remote

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
)

// budget bounds the memory that the objects of other clusters take: those that each
// connection holds, and all together with the answers that are being read. A connection
// that passes its bound is cut off. When all together pass theirs, the connection that
// takes most in the namespace that takes most is cut off.
type budget struct {
	each, all int64 // bytes

	mu     sync.Mutex
	meters map[*meter]struct{}
	sum    int64
}

// meter measures one connection. budget.mu guards what changes.
type meter struct {
	budget    *budget
	namespace string
	target    identity.Target
	over      chan *identity.Problem // has an entry when the connection is to be cut off

	objects map[objectKey]int64
	coming  map[objectKey]struct{} // of these, those that the cache has not told of yet
	held    int64                  // the sum of objects
	answers int64                  // being read
	cut     bool                   // since the last begin
}

// objectKey names an object of a connection, all of which are in one namespace.
type objectKey struct {
	kind reflect.Type
	name string
}

func newBudget(each, all int64) *budget {
	return &budget{each: each, all: all, meters: map[*meter]struct{}{}}
}

// meter returns the meter of a new connection for a reference of a namespace.
func (b *budget) meter(namespace string, target identity.Target) *meter {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &meter{budget: b, namespace: namespace, target: target, over: make(chan *identity.Problem, 1)}
	m.clearLocked()
	b.meters[m] = struct{}{}
	return m
}

// begin forgets the objects of an earlier cache.
func (m *meter) begin() {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	m.clearLocked()
	m.cut = false
	select {
	case <-m.over:
	default:
	}
}

// end gives back what a cache held.
func (m *meter) end() {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	m.clearLocked()
}

// close ends the meter with its connection.
func (m *meter) close() {
	m.end()
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	delete(m.budget.meters, m)
}

func (m *meter) clearLocked() {
	m.budget.sum -= m.held
	m.held, m.objects, m.coming = 0, map[objectKey]int64{}, map[objectKey]struct{}{}
}

// reading counts the weight of an answer while it is read. A negative weight takes it
// back. The answer is read to its end: a connection that takes too much is cut off.
func (m *meter) reading(weight int64) bool {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	m.answers += weight
	m.budget.sum += weight
	m.budget.checkLocked(m)
	return true
}

// transform counts an object before it comes into the cache, without what nobody reads of it. Of a
// connection that is to be cut off, only the names of objects do.
func (m *meter) transform(object any) (any, error) {
	o, ok := object.(client.Object)
	if !ok {
		return object, nil
	}
	o.SetManagedFields(nil)
	if data, ok := o.(*bmov1alpha1.HardwareData); ok {
		hardware.Strip(data)
	}
	if !m.set(o, sizeOf(o), true) {
		return o, nil
	}
	bare, ok := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	if !ok {
		return o, nil
	}
	bare.SetNamespace(o.GetNamespace())
	bare.SetName(o.GetName())
	bare.SetResourceVersion(o.GetResourceVersion())
	bare.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	return bare, nil
}

// put counts an object of the cache as it is now.
func (m *meter) put(object any) {
	if o, ok := object.(client.Object); ok {
		m.set(o, sizeOf(o), false)
	}
}

// drop counts that an object has left the cache.
func (m *meter) drop(object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if o, ok := object.(client.Object); ok {
		m.set(o, 0, false)
	}
}

// filled forgets the objects that were deleted while the cache was filled, of which it never
// tells. One that it has and tells of later is counted then.
func (m *meter) filled() {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	for key := range m.coming {
		m.setLocked(key, 0)
	}
}

// set counts an object, which is coming or is in the cache.
func (m *meter) set(o client.Object, size int64, coming bool) (cut bool) {
	key := objectKey{reflect.TypeOf(o), o.GetName()}
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	m.setLocked(key, size)
	if coming {
		m.coming[key] = struct{}{}
	}
	m.budget.checkLocked(m)
	return m.cut
}

func (m *meter) setLocked(key objectKey, size int64) {
	more := size - m.objects[key]
	delete(m.coming, key)
	if size > 0 {
		m.objects[key] = size
	} else {
		delete(m.objects, key)
	}
	m.held += more
	m.budget.sum += more
}

// checkLocked cuts off a connection when a bound is passed.
func (b *budget) checkLocked(m *meter) {
	if m.held > b.each {
		m.cutLocked(fmt.Sprintf("more than the %d MiB that one connection may take", b.each>>20), "--identity-connection-memory")
	}
	for b.sum > b.all {
		most, sum := b.mostLocked()
		if most == nil || sum <= b.all {
			return
		}
		most.cutLocked(fmt.Sprintf("the largest part of the %d MiB that all connections may take together", b.all>>20), "--identity-memory")
	}
}

// mostLocked is the meter that takes most in the namespace that takes most, and the sum
// of all. Those that are cut off already are left out: they give back what they take.
func (b *budget) mostLocked() (most *meter, sum int64) {
	namespaces := map[string]int64{}
	for m := range b.meters {
		if !m.cut {
			namespaces[m.namespace] += m.held + m.answers
			sum += m.held + m.answers
		}
	}
	for m := range b.meters {
		switch {
		case m.cut:
		case most == nil, namespaces[m.namespace] > namespaces[most.namespace],
			m.namespace == most.namespace && m.held+m.answers > most.held+most.answers:
			most = m
		}
	}
	return most, sum
}

func (m *meter) cutLocked(what, flag string) {
	if m.cut {
		return
	}
	m.cut = true
	select {
	case m.over <- overMemory(m.target, what, flag):
	default:
	}
}

// byNamespace is what the connections of each namespace hold, in bytes.
func (b *budget) byNamespace() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]int64{}
	for m := range b.meters {
		out[m.namespace] += m.held
	}
	return out
}

// overhead is about what each piece of memory, and each entry of a map, takes besides
// its content.
const overhead = 16

// sizeOf is about the memory that an object takes, in bytes.
func sizeOf(o client.Object) int64 {
	return extra(reflect.ValueOf(o))
}

// extra is the memory that a value refers to.
func extra(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.String:
		return overhead + int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || v.Type() == reflect.TypeFor[*time.Location]() {
			return 0
		}
		return overhead + int64(v.Elem().Type().Size()) + extra(v.Elem())
	case reflect.Struct:
		sum := int64(0)
		for _, field := range v.Fields() {
			sum += extra(field)
		}
		return sum
	case reflect.Slice:
		return extraOfSlice(v)
	case reflect.Map:
		sum := int64(v.Len()) * (int64(v.Type().Key().Size()+v.Type().Elem().Size()) + overhead)
		for i := v.MapRange(); i.Next(); {
			sum += extra(i.Key()) + extra(i.Value())
		}
		return sum
	default:
		return 0
	}
}

func extraOfSlice(v reflect.Value) int64 {
	sum := overhead + int64(v.Cap())*int64(v.Type().Elem().Size())
	if v.Type().Elem().Kind() != reflect.Uint8 {
		for i := range v.Len() {
			sum += extra(v.Index(i))
		}
	}
	return sum
}
