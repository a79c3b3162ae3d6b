#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every built plugin exports one symbol and does not need the host's libraries.
# proves: ABI-SYM-01
# usage: plugin_symbols.sh PLUGIN_DIR
set -euo pipefail
failed=0 count=0
for library in "$1"/*.so; do
  [ -e "$library" ] || break
  count=$((count + 1))
  exported=$(nm -D --defined-only "$library" | awk '{print $NF}' | grep -v '^__\(asan\|ubsan\|tsan\|odr_asan\|sanitizer\)' | sort | tr '\n' ' ')
  if [ "$exported" != "etb_plugin_query " ]; then
    echo "$library: exports '$exported', expected 'etb_plugin_query'"; failed=1
  fi
  if readelf -d "$library" | grep -E 'NEEDED.*\[libetb'; then
    echo "$library: needs a library of the host"; failed=1
  fi
  if readelf -d "$library" | grep -q TEXTREL; then
    echo "$library: has text relocations"; failed=1
  fi
done
[ "$count" -gt 0 ] || { echo "no plugin in $1"; exit 1; }
echo "$count plugins checked"
exit "$failed"
