#!/usr/bin/env bash
# Writes a release into the folder $1, in the layout of a repository of clusterctl, as version $2. The plugin of
# kubectl lies beside the components of the provider, as krew looks for it.
# The images are IMAGE_PREFIX/…:IMAGE_TAG. The managers must be in bin/, the tools in bin/tools/.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
version=$2
images=(cluster-api-provider-metal3 hostclaim-manager kubevirt-manager)

if ! [[ $version =~ ^v([0-9]+)\.([0-9]+)\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
	! grep -A1 -x -- "- major: ${BASH_REMATCH[1]}" metadata.yaml | grep -q -x "  minor: ${BASH_REMATCH[2]}"; then
	echo "RELEASE=$version: clusterctl takes v<major>.<minor>.<patch> of a series of metadata.yaml only" >&2
	exit 1
fi
if [[ $IMAGE_PREFIX == localhost ]]; then
	echo "Images: localhost/…:$IMAGE_TAG, which no cluster pulls. Set IMAGE_PREFIX and IMAGE_TAG as for docker-build." >&2
fi

# digest prints the digest of image $1: as IMAGE_DIGESTS has it ("<image>=sha256:… …"), or as the
# container engine knows it of an image that was pushed. It prints nothing if neither does.
digest() {
	local given
	for given in ${IMAGE_DIGESTS:-}; do
		if [[ $given == "$1="* ]]; then
			echo "${given#*=}"
			return
		fi
	done
	"${DOCKER:-docker}" image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$IMAGE_PREFIX/$1:$IMAGE_TAG" 2>/dev/null |
		sed -n "s|^$IMAGE_PREFIX/$1@||p" | head -1 || true
}
named=""
for image in "${images[@]}"; do
	digest=$(digest "$image")
	if [[ -z $digest ]]; then
		named+="- {name: localhost/$image, newName: $IMAGE_PREFIX/$image, newTag: \"$IMAGE_TAG\"}"$'\n'
		echo "Images: $image by its tag $IMAGE_TAG, since its digest is not known: push the image first, or set IMAGE_DIGESTS='$image=sha256:…'." >&2
	elif [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]]; then
		named+="- {name: localhost/$image, newName: $IMAGE_PREFIX/$image, digest: $digest}"$'\n'
	else
		echo "IMAGE_DIGESTS: $image=$digest is not sha256: and 64 hexadecimal digits" >&2
		exit 1
	fi
done

mkdir -p bin
overlay=$(mktemp -d bin/release.XXXXXX)
trap 'rm -rf "$overlay"' EXIT
# build writes the kustomization $1, with the component $3 if there is one and the names of the images, into
# the file $2.
build() {
	printf 'resources: [../../%s]\ncomponents: [%s]\nimages:\n%s' "$1" "${3:-}" "$named" >"$overlay/kustomization.yaml"
	bin/tools/kustomize build "$overlay" >"$2.yaml"
}
# finish adds to the folder $1 what every provider has; $2 is its program in bin/.
finish() {
	cp metadata.yaml "$1"
	sed -n 's/^ *image: //p' "$1"/*-components*.yaml | sort -u >"$1/images.txt"
	bin/tools/cyclonedx-gomod bin -json -noserial -notimestamp -version "$version" -output "$1/sbom.cdx.json" "bin/$2" 2>/dev/null
	(cd "$1" && sha256sum -- *) >"$overlay/sums"
	mv "$overlay/sums" "$1/sha256sums.txt"
}

metal3=$out/infrastructure-metal3/$version
hostclaim=$out/addon-hostclaim/$version
kubevirt=$out/addon-hostclaim-kubevirt/$version
rm -rf "$metal3" "$hostclaim" "$kubevirt"
mkdir -p "$metal3" "$hostclaim" "$kubevirt"
build config/default "$metal3/infrastructure-components" ../../config/clusterctl
build config/hardened "$metal3/infrastructure-components-hardened" ../../config/clusterctl
build config/in-place-updates "$metal3/infrastructure-components-in-place-updates" ../../config/clusterctl
cp templates/cluster-template*.yaml templates/clusterclass-*.yaml "$metal3"
hack/kubectl-metal3.sh "$metal3" "$version"
finish "$metal3" manager
build config/hostclaim/default "$hostclaim/addon-components"
build config/hostclaim/hardened "$hostclaim/addon-components-hardened"
finish "$hostclaim" hostclaim-manager
build config/kubevirt/default "$kubevirt/addon-components"
finish "$kubevirt" kubevirt-manager

cat >"$out/clusterctl.yaml" <<EOT
providers:
- name: metal3
  type: InfrastructureProvider
  url: file://$metal3/infrastructure-components.yaml
- name: hostclaim
  type: AddonProvider
  url: file://$hostclaim/addon-components.yaml
- name: hostclaim-kubevirt
  type: AddonProvider
  url: file://$kubevirt/addon-components.yaml
EOT
