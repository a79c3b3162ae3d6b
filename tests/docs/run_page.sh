#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every ```sh block of a page, in order, in one shell, in an empty folder. A reader has the same: the
# repository ($ETB) and the program on the PATH. Files that the page makes must exist afterwards.
# usage: run_page.sh PAGE.md BUILD_DIR SOURCE_DIR FILE...
set -euo pipefail
page=$1 build=$2 source=$3
shift 3
work=$build/tests/docs/$(basename "$page" .md)
rm -rf "$work"
mkdir -p "$work"
# A block without a language is the content of the file named last before it.
awk '/`[a-z_.]*\.rules`:$/ { match($0, /[a-z_]*\.rules/); name = substr($0, RSTART, RLENGTH) }
     /^```$/ && name != "" && !inside { inside = 1; next }
     /^```$/ && inside { inside = 0; name = "" }
     inside { print > (work "/" name) }' work="$work" "$page"
awk '!inside && /^```sh$/ { inside = 1; print "echo \"== line " NR "\" >&2"; blocks++; next }
     inside && /^```$/ { inside = 0; next }
     inside { print }
     END { if (blocks < 3) { print "no blocks found in the page" > "/dev/stderr"; exit 1 } }' "$page" >"$work/page.sh"
# Commands without a language would not be tested.
if awk '/^```/ { inside = !inside; plain = $0 == "```"; next } inside && plain && /^ *etbackend / { found = 1 } END { exit !found }' "$page"; then
  echo "FAILED: $page: a block of commands does not begin with \`\`\`sh"
  exit 1
fi
cd "$work"
ETB=$source PATH=$build/bin:$PATH bash -euxo pipefail page.sh >output.txt 2>&1 || { cat output.txt; echo "FAILED: $page, the last line above"; exit 1; }
for file in "$@"; do [ -s "$file" ] || { cat output.txt; echo "FAILED: $page: no file $file"; exit 1; }; done
echo "$(grep -c '^== line' output.txt) blocks of $(basename "$page") ran"
