#!/usr/bin/env bash
# Runs "go test" with the given arguments and, if it fails, says again at the end
# what failed: managers log a lot in between. Vet is left to "make lint", which runs
# more of it: here it would analyze every dependency a second time.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
go test -vet=off "$@" 2>&1 | tee "$log" && exit 0
echo
echo "What failed:"
grep -aE '^ *--- FAIL|^FAIL[[:space:]]|_test\.go:[0-9]+:|^panic:|DATA RACE' -A2 "$log" | grep -avE '^[IWE][0-9]{4} |^--$' | head -n 60
exit 1
