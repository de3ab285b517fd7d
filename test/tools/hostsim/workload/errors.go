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

package workload

import (
	"errors"
	"fmt"
)

// notYetError is a refusal that time may heal: kubeadm keeps trying for a while.
type notYetError struct{ reason string }

func (e *notYetError) Error() string { return e.reason }

// IsNotYet says that the machine may succeed later with the same configuration.
func IsNotYet(err error) bool {
	var notYet *notYetError
	return errors.As(err, &notYet)
}

func notYetf(format string, args ...any) error {
	return &notYetError{reason: fmt.Sprintf(format, args...)}
}
