#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every ```sh block of a page, in order, in one shell, except those that not_run.txt lists. A reader has the
# same: the repository and the program on the PATH. A page that uses $ETB, the repository's folder, runs in an
# empty folder. Any other page runs in a folder with links to the repository's files, so that paths of the
# repository work and new files stay outside of it. If tests/docs/NAME.toml exists, it is the configuration file
# there: shorter measurements. Files that the page makes must exist afterwards.
# usage: run_page.sh PAGE.md BUILD_DIR SOURCE_DIR FILE...
set -euo pipefail
page=$1 build=$2 source=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=$(basename "$page" .md)
work=$build/tests/docs/$name
rm -rf "$work"
mkdir -p "$work"
# The registry rejects folders that other users may write, so the umask is that of a new Debian user.
umask 022
if ! grep -q '\$ETB\b' "$source/$page"; then
  for entry in "$source"/*; do [ "$(basename "$entry")" = build ] || ln -s "$entry" "$work/"; done
fi
if [ -e "$here/$name.toml" ]; then cp "$here/$name.toml" "$work/etbackend.toml"; fi
# A block that is not a command is the content of the file named last before it: `NAME`:
awk '/`[a-zA-Z_.-]+\.(rules|json)`:$/ { match($0, /`[a-zA-Z_.-]+\.(rules|json)`:$/); name = substr($0, RSTART + 1, RLENGTH - 3) }
     /^```(json)?$/ && name != "" && !inside { inside = 1; next }
     /^```$/ && inside { inside = 0; name = "" }
     inside { print > (work "/" name) }' work="$work" "$source/$page"
awk -v page="$page" -v list="$here/not_run.txt" -v least=1 -f "$here/page_blocks.awk" "$source/$page" >"$work/page.sh"
cd "$work"
ETB=$source PATH=$build/bin:$PATH XDG_CONFIG_HOME=$work XDG_CACHE_HOME=$work/cache bash -euxo pipefail page.sh >output.txt 2>&1 </dev/null ||
  { cat output.txt; echo "FAILED: $page, the last line above"; exit 1; }
for file in "$@"; do [ -s "$file" ] || { cat output.txt; echo "FAILED: $page: no file $file"; exit 1; }; done
echo "$(grep -c '^== line' output.txt) blocks of $page ran"
