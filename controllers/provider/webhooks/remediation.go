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

package webhooks

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unimplemented warns the author of an object that nothing is done with it, and refuses
// nothing.
func unimplemented[T client.Object](kind, warning string) validator[T] {
	return validator[T]{
		kind:     kind,
		problems: func(change[T]) field.ErrorList { return nil },
		warnings: func(change[T]) []string { return []string{warning} },
	}
}
