#!/usr/bin/env bash
# Prints the notes of a release: the titles of the commits from $1 to $2 by their area, first what
# users must know before they upgrade (paragraphs of commit messages that begin with "Breaking:").
set -euo pipefail
range=$1..$2
git rev-parse --quiet --verify "$1^{commit}" >/dev/null || { echo "FROM=$1 is no commit or tag" >&2; exit 1; }
# titles prints a section $1 of the commits whose area matches $2, or does not with -v.
titles() {
	local found
	found=$(git log --no-merges --format=%s "$range" | grep "${@:3}" -E "$2" | sort -s -t: -k1,1 | sed 's/^/- /' || true)
	[[ -z $found ]] || printf '## %s\n\n%s\n\n' "$1" "$found"
}
breaking=$(git log --no-merges --format='%b%n' "$range" | awk -v RS= '/^Breaking: / { sub(/^Breaking: /, "- "); gsub(/\n/, " "); print }')
[[ -z $breaking ]] || printf '## Before you upgrade\n\n%s\n\n' "$breaking"
inside='^(test|docs|hack|ci|make|tilt|contributing)[a-z0-9/,. -]*:'
titles Changes "$inside" -v
titles "Tests, tools and docs" "$inside"
