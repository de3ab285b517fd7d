#!/usr/bin/env bash
# Generates the CRDs of KubeVirt and CDI that the tests need, as their modules define the types. What the operator of
# KubeVirt adds to them by code, which no marker has, is added here: the status is a subresource.
# usage: generate-kubevirt-crds.sh <controller-gen> <folder>
set -euo pipefail

generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
"$1" crd:crdVersions=v1,allowDangerousTypes=true,maxDescLen=0,generateEmbeddedObjectMeta=true \
  paths=kubevirt.io/api/core/v1 paths=kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1 \
  output:crd:dir="$generated"
mkdir -p "$2"
cp "$generated/cdi.kubevirt.io_datavolumes.yaml" "$generated/kubevirt.io_virtualmachineinstances.yaml" "$2"
{
  cat "$generated/kubevirt.io_virtualmachines.yaml"
  printf '    subresources:\n      status: {}\n'
} >"$2/kubevirt.io_virtualmachines.yaml"
cat >"$2/kustomization.yaml" <<EOT
resources:
- cdi.kubevirt.io_datavolumes.yaml
- kubevirt.io_virtualmachineinstances.yaml
- kubevirt.io_virtualmachines.yaml
EOT
