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

package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// asksForReboot says that an annotation is one of those that ask for a reboot: the
// key of one that is carried out once, or of one that keeps the server off.
func asksForReboot(key string) bool {
	return key == bmov1alpha1.RebootAnnotationPrefix || strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix+"/")
}

// errReboot is how the arguments of a reboot are written.
var errReboot = errors.New(`leave the value empty, or write {"mode": "hard"} or {"mode": "soft"}, and with "force": true if need be`)

// rebootArguments says what cannot be understood in the value of an annotation that
// asks for a reboot. An empty value asks for the usual.
func rebootArguments(key, value string) error {
	if value == "" {
		return nil
	}
	arguments := struct {
		Mode  *bmov1alpha1.RebootMode `json:"mode"`
		Force *bool                   `json:"force"`
	}{}
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&arguments)
	if err == nil && !errors.Is(decoder.Decode(&struct{}{}), io.EOF) {
		err = errTrailing
	}
	if err == nil && arguments.Mode != nil && *arguments.Mode != bmov1alpha1.RebootModeHard && *arguments.Mode != bmov1alpha1.RebootModeSoft {
		err = fmt.Errorf("mode %q is neither hard nor soft", *arguments.Mode)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("annotation %s %q is invalid (%w): %w", key, value, err, errReboot)
}

var errTrailing = errors.New("something follows the object")
