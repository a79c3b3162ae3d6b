#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares docs/abi_calls.md with the public headers: each function pointer has one row, and the files of a row name the
# function.
#
#   calls.sh
set -eu
cd "$(dirname "$0")/../.."
page=docs/abi_calls.md
found=$(mktemp)
listed=$(mktemp)
trap 'rm -f "$found" "$listed"' EXIT
# "struct.function" of each function pointer in a struct; parameters that are functions do not count.
cat api/include/etb/plugin.h api/include/etb/device.h api/include/etb/delegate.h api/include/etb/aot.h api/include/etb/host.h \
  api/include/etb/option.h api/include/etb/payload.h api/include/etb/ext/*.h api/include/etb/ext/draft/*.h |
  awk '{ sub(/\/\/.*/, "") }
       /^typedef struct [a-z_]+ \{/ { name = $3 }
       name != "" && /^  [a-z].*\(ETB_CALL\* [a-z_]+\)/ { text = $0; sub(/.*ETB_CALL\* /, "", text); sub(/\).*/, "", text); print name "." text }
       /^}/ { name = "" }' | sort >"$found"
sed -n 's/^| `\([a-z_.]*\)` |.*/\1/p' "$page" | sort >"$listed"
status=0
if ! diff "$found" "$listed" >&2; then
  echo "calls.sh: '<' lines are functions without a row in $page, '>' lines rows without a function" >&2
  status=1
fi
sed -n 's/^| `[a-z_]*\.\([a-z_]*\)` | \([^ ]*\) | \([^ ]*\) |$/\1 \2 \3/p' "$page" | {
  count=0
  while read -r function caller test; do
    count=$((count + 1))
    for file in "$caller" "$test"; do
      if [ "$file" != none ] && ! grep -qw "$function" "$file" 2>/dev/null; then
        echo "calls.sh: $file does not name $function" >&2
        status=1
      fi
    done
  done
  if [ "$count" -ne "$(wc -l <"$listed")" ]; then
    echo "calls.sh: $count of $(wc -l <"$listed") rows have two files" >&2
    status=1
  fi
  exit "$status"
}
