#!/usr/bin/env bash
# Compares the CRDs of a release in the folder $1, as make release has written it, with those of config/. It
# fails when clients or stored objects of that release could not go on; a new optional field is no reason.
set -euo pipefail
release=$(realpath -m "$1")
cd "$(dirname "$0")/.."
components=("$release"/*/*/*-components.yaml)
if [[ ! -e ${components[0]} ]]; then
	echo "PREVIOUS=$1 is not the folder of a release: it has no <provider>/<version>/<type>-components.yaml" >&2
	exit 1
fi
mkdir -p bin
dir=$(mktemp -d bin/verify-api.XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/before" "$dir/now"
# split writes a file for each CRD of its input into a folder.
split() {
	awk -v dir="$1" '
	function end() {
		if (kind == "CustomResourceDefinition") printf "%s", text > (dir "/" group "_" plural ".yaml")
		text = kind = group = plural = ""
	}
	/^---$/ || /^apiVersion: / && text { end() }
	/^kind: / { kind = $2 }
	/^  group: / { group = $2 }
	/^    plural: / { plural = $2 }
	!/^---$/ { text = text $0 "\n" }
	END { end() }'
}
cat -- "${components[@]}" | split "$dir/before"
bin/tools/kustomize build config/crd | split "$dir/now"
status=0
for old in "$dir"/before/*.yaml; do
	crd=$(basename "$old")
	new=$dir/now/$crd
	if [[ ! -e $new ]]; then
		echo "$crd: the release has this CRD, config/ has not" >&2
		status=1
	elif ! bin/tools/crdify --config hack/verify-api.yaml "file://$PWD/$old" "file://$PWD/$new"; then
		echo "$crd: breaks what the release serves; the version of the API must change" >&2
		status=1
	fi
done
exit "$status"
