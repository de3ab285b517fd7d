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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// quietManager is the manager as the ClusterCache sees it. The ClusterCache logs
// an error for each attempt to connect to a new Cluster whose kubeconfig does not
// exist yet, although that Cluster is as it should be. Options.ClusterFilter does not
// see Secrets, and Clusters that are not initialized must be connected to: without a control
// plane provider, the first Node with a provider ID makes one initialized.
type quietManager struct {
	manager.Manager
}

// GetLogger returns the logger that controllers of the manager derive theirs from.
func (m quietManager) GetLogger() logr.Logger {
	log := m.Manager.GetLogger()
	return log.WithSink(newWaitSink(log.GetSink()))
}

// waitSink logs errors about objects that do not exist at V(4), as waits.
type waitSink struct {
	logr.LogSink
}

func newWaitSink(sink logr.LogSink) logr.LogSink {
	if deeper, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deeper.WithCallDepth(1)
	}
	return waitSink{sink}
}

// waitLevel is the level at which a wait is logged.
const waitLevel = 4

// Error logs an error; for a Secret that does not exist, it logs a wait.
func (s waitSink) Error(err error, message string, keysAndValues ...any) {
	if !secretMissing(err) {
		s.LogSink.Error(printable(err), message, keysAndValues...)
		return
	}
	if s.Enabled(waitLevel) {
		s.Info(waitLevel, "Waiting for the kubeconfig of the Cluster", keysAndValues...)
	}
}

// maxError bounds the text of an error, in bytes.
const maxError = 1024

// printable returns an error that is safe to log: its text may come from a workload cluster,
// since discovery repeats names that it cannot parse.
func printable(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(text.Shorten(text.Printable(err.Error()), maxError))
}

// secretMissing reports whether the error is that of a Secret that does not exist. Any other
// object that is not found is an error: a workload cluster that answers 404 to all requests,
// for example.
func secretMissing(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Group == "" && details.Kind == "secrets"
}

// WithValues keeps the rule for a logger with more values.
func (s waitSink) WithValues(keysAndValues ...any) logr.LogSink {
	return waitSink{s.LogSink.WithValues(keysAndValues...)}
}

// WithName keeps the rule for a logger with a name.
func (s waitSink) WithName(name string) logr.LogSink {
	return waitSink{s.LogSink.WithName(name)}
}
