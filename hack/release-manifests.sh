#!/usr/bin/env bash
# Writes a release into the folder $1, in the layout of a repository of clusterctl, as version $2.
# The images are IMAGE_PREFIX/…:IMAGE_TAG; bin/tools/kustomize must be there.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
version=$2
images=(cluster-api-provider-metal3 hostclaim-manager)

if ! [[ $version =~ ^v([0-9]+)\.([0-9]+)\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
	! grep -A1 -x -- "- major: ${BASH_REMATCH[1]}" metadata.yaml | grep -q -x "  minor: ${BASH_REMATCH[2]}"; then
	echo "RELEASE=$version: clusterctl takes v<major>.<minor>.<patch> of a series of metadata.yaml only" >&2
	exit 1
fi
if [[ $IMAGE_PREFIX == localhost ]]; then
	echo "Images: localhost/…:$IMAGE_TAG, which no cluster pulls. Set IMAGE_PREFIX and IMAGE_TAG as for docker-build." >&2
fi

repository=$out/infrastructure-metal3/$version
rm -rf "$repository"
mkdir -p "$repository" bin
overlay=$(mktemp -d bin/release.XXXXXX)
trap 'rm -rf "$overlay"' EXIT
# build writes the kustomization $1, with the names of the images, into the file $2.
build() {
	{
		printf 'resources: [../../%s]\nimages:\n' "$1"
		printf -- '- {name: localhost/%s, newName: %s, newTag: "%s"}\n' "${images[0]}" "$IMAGE_PREFIX/${images[0]}" "$IMAGE_TAG" \
			"${images[1]}" "$IMAGE_PREFIX/${images[1]}" "$IMAGE_TAG"
	} >"$overlay/kustomization.yaml"
	bin/tools/kustomize build "$overlay" >"$repository/$2.yaml"
}
build config/default infrastructure-components
build config/hardened infrastructure-components-hardened
build config/in-place-updates infrastructure-components-in-place-updates
build config/hostclaim/default hostclaim-components
build config/hostclaim/hardened hostclaim-components-hardened
cp metadata.yaml templates/*.yaml "$repository"

cat >"$out/clusterctl.yaml" <<EOF
providers:
- name: metal3
  type: InfrastructureProvider
  url: file://$repository/infrastructure-components.yaml
EOF
