#!/usr/bin/env bash
# Writes the cluster templates that users give to clusterctl into the folder $1, one for each
# kustomization in templates/flavors; bin/tools/kustomize must be there. A key or list item
# NAME: "" stands for ${NAME}, which clusterctl replaces by what its user has there: lines with
# their indentation if NAME begins as CAPM3's do, a field otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
for flavor in templates/flavors/*/; do
	flavor=$(basename "$flavor")
	file=cluster-template-$flavor.yaml
	[[ $flavor != default ]] || file=cluster-template.yaml
	{
		echo "# Generated from templates/flavors/$flavor by make generate. The variables: docs/reference/template-variables.md"
		bin/tools/kustomize build "templates/flavors/$flavor" |
			sed -E -e 's/^( +)(- )?((CTLPLANE|WORKERS)_[A-Z_]+): ""$/${\3:=\1# \3 goes here}/' \
				-e 's/^( +)([A-Z_]+): ""$/\1${\2:=# \2 goes here}/'
	} >"$1/$file"
done
