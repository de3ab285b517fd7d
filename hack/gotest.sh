#!/usr/bin/env bash
# Runs "go test" with the given arguments and, if it fails, says again at the end
# what failed: managers log a lot in between. A -run that matches no test fails, too. Vet is
# left to "make lint", which runs more of it: here it would analyze every dependency a second time.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if go test -vet=off "$@" 2>&1 | tee "$log"; then
  awk '/^ok[[:space:]]/ {if (/no tests to run/) none = 1; else some = 1} END {exit none && !some}' "$log" && exit 0
  echo "No test matches: $*"
  exit 1
fi
echo
echo "What failed:"
grep -aE '^ *--- FAIL|^FAIL[[:space:]]|_test\.go:[0-9]+:|^panic:|DATA RACE' -A2 "$log" | grep -avE '^[IWE][0-9]{4} |^--$' | head -n 60
exit 1
