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
	"errors"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/truncate"
)

// boundedManager is the manager as the ClusterCache sees it, whose errors may hold what a workload
// cluster says: discovery repeats names that it does not understand.
type boundedManager struct {
	manager.Manager
}

// GetLogger returns the logger that controllers of the manager derive theirs from.
func (m boundedManager) GetLogger() logr.Logger {
	log := m.Manager.GetLogger()
	return log.WithSink(newBoundedSink(log.GetSink()))
}

// maxError bounds the text of an error, in bytes.
const maxError = 1024

// boundedSink logs errors in printable characters, and cut.
type boundedSink struct {
	logr.LogSink
}

func newBoundedSink(sink logr.LogSink) logr.LogSink {
	if deeper, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deeper.WithCallDepth(1)
	}
	return boundedSink{sink}
}

// Error logs an error.
func (s boundedSink) Error(err error, message string, keysAndValues ...any) {
	if err != nil {
		err = errors.New(truncate.Text(truncate.Printable(err.Error()), maxError))
	}
	s.LogSink.Error(err, message, keysAndValues...)
}

// WithValues keeps the rule for a logger with more values.
func (s boundedSink) WithValues(keysAndValues ...any) logr.LogSink {
	return boundedSink{s.LogSink.WithValues(keysAndValues...)}
}

// WithName keeps the rule for a logger with a name.
func (s boundedSink) WithName(name string) logr.LogSink {
	return boundedSink{s.LogSink.WithName(name)}
}
