#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that each ```sh block of README.md, SECURITY.md, CONTRIBUTING.md and docs/ is run by a test or is listed
# with a reason in not_run.txt, and that no block of commands is without ```sh.
# usage: blocks.sh ROOT PAGE...      the pages that a test runs, relative to ROOT
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
shift
tested=" $* "
failed=0 listed=0
mapfile -t pages < <(ls -- *.md; find docs -name '*.md' | LC_ALL=C sort)
for page in "${pages[@]}"; do
  script=$(awk -v page="$page" -v list="$here/not_run.txt" -f "$here/page_blocks.awk" "$page") || failed=1
  if [ -n "$script" ] && [[ $tested != *" $page "* ]]; then
    echo "$page: no test runs its blocks (tests/docs/CMakeLists.txt), and these are not in tests/docs/not_run.txt:"
    echo "$script"
    failed=1
  fi
done
for page in "$@"; do [ -e "$page" ] || { echo "$page: has a test and does not exist"; failed=1; }; done
while IFS=$'\t' read -r page _; do
  listed=$((listed + 1))
  [ -e "$page" ] || { echo "not_run.txt: no page $page"; failed=1; }
done < <(grep -v '^#' "$here/not_run.txt")
[ "$failed" = 0 ] || { echo "FAILED: command blocks of the docs"; exit 1; }
echo "${#pages[@]} pages: all blocks run or are listed ($listed)"
