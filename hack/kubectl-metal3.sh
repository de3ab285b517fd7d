#!/usr/bin/env bash
# Writes into the folder $1 the plugin of kubectl as version $2, as krew installs it: an archive for each
# platform of cmd/kubectl-metal3/krew.yaml, and that manifest with their checksums. The same sources give the
# same files.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
manifest=$(sed "/^#/d; s/VERSION/$2/" cmd/kubectl-metal3/krew.yaml)
mkdir -p "$out"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp LICENSE "$build"
for platform in $(sed -n 's/.*SHA256_//p' <<<"$manifest"); do
	archive=$out/kubectl-metal3_$platform.tar.gz
	GOOS=${platform%_*} GOARCH=${platform#*_} go build -ldflags '-s -w' -o "$build/kubectl-metal3" ./cmd/kubectl-metal3
	tar -C "$build" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - LICENSE kubectl-metal3 | gzip -n >"$archive"
	sum=$(sha256sum "$archive")
	manifest=${manifest/SHA256_$platform/${sum%% *}}
done
printf '%s\n' "$manifest" >"$out/metal3.yaml"
