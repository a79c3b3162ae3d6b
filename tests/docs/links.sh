#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every relative link of the pages at the top and of docs/ leads to a file, and its anchor to a heading. No page is
# empty, and docs/decisions.md links every record.
# usage: links.sh ROOT
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# FILE#ANCHOR of each heading, as the usual renderers make it: lower case, punctuation dropped, spaces as hyphens.
folders=(docs)
if [ -d host ]; then folders+=(host); fi  # not in the installed tree
mapfile -t pages < <(ls -- *.md; find "${folders[@]}" -name '*.md' | LC_ALL=C sort)
LC_ALL=C awk '
  FNR == 1 { fenced = 0 }
  /^ *```/ { fenced = !fenced; next }
  !fenced && /^#+ / {
    title = tolower($0)
    sub(/^#+ +/, "", title)
    gsub(/\]\([^)]*\)/, "", title)
    gsub(/[^a-z0-9_ -]/, "", title)
    gsub(/ /, "-", title)
    print FILENAME "#" title
  }' "${pages[@]}" >"$work/anchors.txt"

# FILE, LINE and TARGET of each link that is not to another site.
LC_ALL=C awk '
  FNR == 1 { fenced = 0 }
  /^ *```/ { fenced = !fenced; next }
  fenced { next }
  { rest = $0
    gsub(/`[^`]*`/, "", rest)
    while (match(rest, /\]\([^) ]*\)/)) {
      target = substr(rest, RSTART + 2, RLENGTH - 3)
      rest = substr(rest, RSTART + RLENGTH)
      if (target !~ /^[a-z]+:/) print FILENAME "\t" FNR "\t" target
    } }' "${pages[@]}" >"$work/links.txt"
count=$(wc -l <"$work/links.txt")
[ "$count" -ge 50 ] || { echo "FAILED: the scan found only $count links"; exit 1; }

declare -A has_anchor
while read -r anchor; do has_anchor[$anchor]=1; done <"$work/anchors.txt"
normalise() {  # PATH: without "x/../", in $file
  file=$1
  while [[ $file =~ ^(.*/)?[^./][^/]*/\.\./(.*)$ ]]; do file=${BASH_REMATCH[1]}${BASH_REMATCH[2]}; done
}
failed=0
while IFS=$'\t' read -r page line target; do
  path=${target%%#*} folder=
  if [[ $page == */* ]]; then folder=${page%/*}/; fi
  file=$page
  if [ -n "$path" ]; then normalise "$folder$path"; fi
  if [ ! -e "$file" ]; then
    echo "$page:$line: $target: no such file"
    failed=1
  elif [ "$target" != "$path" ] && [ -z "${has_anchor[$file#${target#*#}]:-}" ]; then
    echo "$page:$line: $target: no such heading in $file"
    failed=1
  fi
done <"$work/links.txt"
for page in "${pages[@]}"; do
  if [ ! -s "$page" ]; then echo "$page: empty page"; failed=1; fi
done
# Records have a date in their title.
records=$(sed -n 's|^docs/\(decisions/.*-[0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\)$|\1|p' "$work/anchors.txt")
[ "$(wc -l <<<"$records")" -ge 50 ] || { echo "FAILED: the scan found too few records in docs/decisions"; exit 1; }
while read -r record; do
  if ! grep -qF "($record)" docs/decisions.md; then echo "docs/decisions.md: no link to $record"; failed=1; fi
done <<<"$records"
[ "$failed" = 0 ] || { echo "FAILED: links of the docs"; exit 1; }
echo "$count links lead somewhere"
