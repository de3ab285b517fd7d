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

package manager

import (
	"errors"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// printableSink is a log sink that writes one line for each message. klog writes names of objects and texts of
// errors as they are, and owner references and other clusters have any name that their owner likes.
type printableSink struct {
	logr.LogSink
}

// printableLogger returns a logger in which no name and no error begins a line of its own.
func printableLogger(log logr.Logger) logr.Logger {
	sink := log.GetSink()
	if deeper, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deeper.WithCallDepth(1)
	}
	return log.WithSink(printableSink{sink})
}

// Info logs a message.
func (s printableSink) Info(level int, message string, keysAndValues ...any) {
	s.LogSink.Info(level, message, printable(keysAndValues)...)
}

// Error logs an error.
func (s printableSink) Error(err error, message string, keysAndValues ...any) {
	if err != nil {
		err = errors.New(text.Printable(err.Error()))
	}
	s.LogSink.Error(err, message, printable(keysAndValues)...)
}

// WithValues keeps the rule for a logger with more values.
func (s printableSink) WithValues(keysAndValues ...any) logr.LogSink {
	return printableSink{s.LogSink.WithValues(printable(keysAndValues)...)}
}

// WithName keeps the rule for a logger with a name.
func (s printableSink) WithName(name string) logr.LogSink {
	return printableSink{s.LogSink.WithName(name)}
}

// printable returns the values with names and errors of characters that are printed.
func printable(values []any) []any {
	values = slices.Clone(values)
	for i, value := range values {
		switch value := value.(type) {
		case klog.ObjectRef:
			values[i] = klog.KRef(text.Printable(value.Namespace), text.Printable(value.Name))
		case error:
			values[i] = errors.New(text.Printable(value.Error()))
		}
	}
	return values
}
