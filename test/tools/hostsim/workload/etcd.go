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
	"context"
	"hash/fnv"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The in-memory etcd keeps its members as pods: an annotation each for cluster,
// member and the time since which a member leads. The latest time is the leader.

// etcdPodName is also the server name that clients ask this member for.
func etcdPodName(node string) string { return "etcd-" + node }

// etcdID is a number for a name that is stable over restarts and never zero.
func etcdID(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails, see hash.Hash
	return strconv.FormatUint(uint64(h.Sum32())|1, 10)
}

// startEtcd adds the member of a node, or wakes it. The first one leads.
func (cl *cluster) startEtcd(ctx context.Context, node string, now time.Time) error {
	members, err := cl.etcdPods(ctx)
	if err != nil {
		return err
	}
	pod := staticPod("etcd", node)
	pod.Annotations[cloudv1.EtcdClusterIDAnnotationName] = etcdID(cl.name)
	pod.Annotations[cloudv1.EtcdMemberIDAnnotationName] = etcdID(pod.Name)
	if leader(members) == "" {
		pod.Annotations[cloudv1.EtcdLeaderFromAnnotationName] = now.Format(time.RFC3339)
	}
	return cl.runPod(ctx, pod)
}

// elect gives leadership to another running member when the leader stops.
func (cl *cluster) elect(ctx context.Context, stopped string, now time.Time) error {
	members, err := cl.etcdPods(ctx)
	if err != nil || leader(members) != etcdPodName(stopped) {
		return err
	}
	for _, m := range cl.machines {
		if !m.running || !m.machine.controlPlane() {
			continue
		}
		if err := cl.lead(ctx, m.machine.Node.Name, now); err != nil {
			return err
		}
		return cl.annotate(ctx, stopped, func(annotations map[string]string) {
			delete(annotations, cloudv1.EtcdLeaderFromAnnotationName)
		})
	}
	return nil
}

func (cl *cluster) lead(ctx context.Context, node string, now time.Time) error {
	return cl.annotate(ctx, node, func(annotations map[string]string) {
		annotations[cloudv1.EtcdLeaderFromAnnotationName] = now.Format(time.RFC3339)
	})
}

func (cl *cluster) annotate(ctx context.Context, node string, mutate func(map[string]string)) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: etcdPodName(node)}}
	return client.IgnoreNotFound(cl.change(ctx, pod, func() { mutate(pod.Annotations) }))
}

func (cl *cluster) etcdPods(ctx context.Context) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := cl.client.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"component": "etcd"})
	return pods.Items, err
}

// leader is the pod name of the member that leads, or nothing.
func leader(members []corev1.Pod) string {
	name, since := "", time.Time{}
	for _, pod := range members {
		if _, removed := pod.Annotations[cloudv1.EtcdMemberRemoved]; removed {
			continue
		}
		from, err := time.Parse(time.RFC3339, pod.Annotations[cloudv1.EtcdLeaderFromAnnotationName])
		if err == nil && from.After(since) {
			name, since = pod.Name, from
		}
	}
	return name
}
