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
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

const (
	registry      = "registry.k8s.io"
	coreDNSTag    = "v1.14.2"
	bootstrappers = "system:bootstrappers:kubeadm:default-node-token"
)

// install creates what kubeadm init leaves in a cluster besides its
// configuration: namespaces, addons, and what joining machines and the kubeadm
// control plane provider look up.
func (cl *cluster) install(ctx context.Context, m Machine) error {
	info, err := clusterInfo(cl.name, cl.pki.Cluster)
	if err != nil {
		return err
	}
	objects := []client.Object{info, configMap(metav1.NamespaceSystem, "kubelet-config", "kubelet", "")}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelMetadataName: name},
		}})
	}
	objects = append(objects, permissions()...)
	objects = append(objects, addons(m.Plan.Cluster, m.Node.KubeletVersion)...)
	for _, obj := range objects {
		if err := cl.create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}

// clusterInfo is the public kubeconfig that discovery by token starts from.
func clusterInfo(endpoint string, authority kubeadm.Authority) (*corev1.ConfigMap, error) {
	pem, err := certutil.EncodeCertificates(authority.Certificate)
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: "https://" + endpoint, CertificateAuthorityData: pem}
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		return nil, err
	}
	return configMap(metav1.NamespacePublic, "cluster-info", "kubeconfig", string(kubeconfig)), nil
}

// permissions are the roles that bootstrap tokens get. Nothing enforces them;
// they are there to be looked up.
func permissions() []client.Object {
	reader := metav1.ObjectMeta{Name: "kubeadm:get-nodes"}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: reader, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: reader,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: bootstrappers}},
		},
	}
}

// addons are the two that kubeadm installs and the control plane provider
// upgrades: name server and service proxy.
func addons(config kubeadm.ClusterConfiguration, version string) []client.Object {
	images := cmp.Or(config.ImageRepository, registry)
	// kubeadm keeps the name server in a folder of its own in the default
	// registry only.
	dns := cmp.Or(config.DNS.ImageRepository, config.ImageRepository, registry+"/coredns")
	labels := map[string]string{"k8s-app": "kube-dns"}
	return []client.Object{
		configMap(metav1.NamespaceSystem, "kube-proxy", "config.conf", ""),
		&appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-proxy"},
			Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "kube-proxy", Image: images + "/kube-proxy:" + cmp.Or(version, "latest")}},
			}}},
		},
		configMap(metav1.NamespaceSystem, "coredns", "Corefile", ".:53 {\n    errors\n    health\n    ready\n}\n"),
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "coredns", Labels: labels},
			Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "coredns", Image: dns + "/coredns:" + cmp.Or(config.DNS.ImageTag, coreDNSTag),
				}}},
			}},
		},
	}
}

func configMap(namespace, name, key, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: value}}
}

// create stores an object under a UID, which the in-memory store does not give.
func (cl *cluster) create(ctx context.Context, obj client.Object) error {
	obj.SetUID(uuid.NewUUID())
	return cl.client.Create(ctx, obj)
}

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
