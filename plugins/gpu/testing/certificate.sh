#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the report of `etbackend verify --profile cert` between two marks of a page, without the folder of the sources.
#
#   certificate.sh ETBACKEND PLUGIN PAGE [REPORT]
#   certificate.sh build/dev/bin/etbackend build/dev/plugins.d/vulkan.so docs/vulkan.md
#
# REPORT: a file with the standard output of a run, which is not repeated.
set -eu
etbackend=$1 plugin=$2 page=$3
report=$(mktemp)
trap 'rm -f "$report"' EXIT
if [ $# -ge 4 ]; then
  cp "$4" "$report"
else
  "$etbackend" verify "$plugin" --profile cert --case-timeout-ms 60000 >"$report" || { tail -20 "$report" >&2; exit 1; }
fi
root=$(cd "$(dirname "$0")/../../.." && pwd)
awk -v root="$root/" -v report="$report" '
  /^<!-- end of certificate -->/ { skips = 0 }
  !skips
  /^<!-- certificate -->/ {
    print "```text"
    while ((getline line < report) > 0) {
      while ((at = index(line, root)) > 0) line = substr(line, 1, at - 1) substr(line, at + length(root))
      sub(/ +$/, "", line)
      print line
    }
    print "```"
    skips = 1
  }' "$page" >"$report.page"
cat "$report.page" >"$page"
rm -f "$report.page"
