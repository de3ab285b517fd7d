#!/usr/bin/env bash
# Fails when a Go file does not start with the license header of
# boilerplate.go.txt, and names the files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

header_file=hack/boilerplate/boilerplate.go.txt
header=$(<"$header_file")
status=0
while IFS= read -r file; do
  [[ -f $file ]] || continue
  text=$(<"$file")
  # A build constraint may come before the header, followed by an empty line.
  [[ $text != "//go:build "* ]] || text=${text#*$'\n\n'}
  if [[ $text != "$header"* ]]; then
    echo "$file: the license header is missing or differs: start the file with the text of $header_file" >&2
    status=1
  fi
done < <(git ls-files --cached --others --exclude-standard -- '*.go')
exit "$status"
