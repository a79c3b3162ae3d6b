#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a table of what a plugin takes of each network of the zoo, between two marks of a page.
#
#   zoo_coverage.sh ETBACKEND ZOO BACKEND PAGE
#   zoo_coverage.sh build/dev/bin/etbackend tests/fixtures/zoo vulkan docs/vulkan.md
#
# Views of results (getitem) count for no side. `compile_zoo_test` runs the same networks and compares the results.
set -eu
etbackend=$1 zoo=$2 backend=$3 page=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
{
  echo '| network | regions | operators inside | outside | operators outside |'
  echo '|---|---|---|---|---|'
  for file in "$zoo"/*.pt2; do
    "$etbackend" compile -b "$backend" "$file" -o "$folder/program.pte" --report >"$folder/report.txt"
    awk -F'│' -v name="$(basename "$file" .pt2)" '
      /Total delegated subgraphs/ { split($0, words, ": "); regions += words[2] }
      /│/ {
        op = $3; gsub(/ /, "", op)
        if (op == "op_type" || op == "Total" || op == "getitem") next
        inside += $4; outside += $5
        if ($5 > 0) left[op] += $5
      }
      END {
        list = ""
        count = 0
        for (op in left) names[++count] = op
        for (i = 1; i <= count; ++i)  # by number, then by name
          for (k = i + 1; k <= count; ++k)
            if (left[names[k]] > left[names[i]] || (left[names[k]] == left[names[i]] && names[k] < names[i])) {
              kept = names[i]; names[i] = names[k]; names[k] = kept
            }
        for (i = 1; i <= count && i <= 4; ++i) {
          op = names[i]; shown = op; sub(/^aten_/, "", shown)
          list = list (list == "" ? "" : ", ") left[op] " " shown
        }
        if (count > 4) list = list ", " count - 4 " more"
        printf "| %s | %d | %d | %d | %s |\n", name, regions, inside, outside, list
      }' "$folder/report.txt"
  done
} >"$folder/table.md"
awk -v table="$folder/table.md" '
  /<!-- zoo -->/ { print; while ((getline line < table) > 0) print line; skips = 1; next }
  /<!-- end of zoo -->/ { skips = 0 }
  !skips { print }' "$page" >"$folder/page.md"
cat "$folder/page.md" >"$page"
