#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures programs by rules and with measured kernels, in alternating processes, and writes a table between two marks of a page.
#
#   tuning_table.sh ETBACKEND ID PAGE NAME=PROGRAM.pte...
#   tuning_table.sh build/dev/bin/etbackend EtbVulkanBackend docs/vulkan.md mobilenet_v2=mobilenet_v2.pte
#
# All times are processor time in user mode: on a busy machine the clock measures the neighbours. A run is the difference between
# processes with many runs and with one, the least of three rounds. Cold processes load and run once, with empty caches.
set -eu
etbackend=$1 id=$2 page=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache" POCL_CACHE_DIR="$folder/cache/pocl"
# Prints seconds of a process with so many runs of a program.
seconds() {
  (
    "$etbackend" bench "$1" --samples 1 --warmup 1 --repeat "$3" --json --backend-option "$id:tune=$2" \
      >"$folder/report.json" 2>"$folder/log.txt"
    times
  ) | awk 'NR == 2 { split($1, part, /[ms]/); print part[1] * 60 + part[2] }'
}
cold() {
  rm -rf "$folder/cache"
  mkdir -p "$folder/cache/pocl"
  seconds "$1" "$2" 1
}
{
  echo '| network | layers with a choice | replaced | ms a run, by rules | measured | ratio | cold process in s, by rules | measuring |'
  echo '|---|---|---|---|---|---|---|---|'
  for pair in "$@"; do
    name=${pair%%=*} program=${pair#*=}
    cold_rules=$(cold "$program" off)
    cold_measured=$(cold "$program" measured)
    "$etbackend" run "$program" --random 1 --json --backend-option "$id:tune=stored" >"$folder/facts.json" 2>"$folder/log.txt"
    fact() { sed -n "s/.*\"$1\": *\"\([0-9]*\)\".*/\1/p" "$folder/facts.json" | awk '{ sum += $1 } END { print sum + 0 }'; }
    stored=$(fact stored) replaced=$(fact replaced)
    seconds "$program" stored 2 >/dev/null
    least=$(sed -n 's/^ *"min_us": \([0-9.]*\),*$/\1/p' "$folder/report.json" | head -n 1)
    count=$(awk -v us="$least" 'BEGIN { n = int(500000 / us); print n < 4 ? 4 : n }')
    for tune in off stored; do : >"$folder/runs.$tune"; done
    for round in 1 2 3; do
      for tune in off stored; do
        one=$(seconds "$program" "$tune" 1)
        many=$(seconds "$program" "$tune" "$((count + 1))")
        awk -v one="$one" -v many="$many" -v count="$count" 'BEGIN { print (many - one) * 1000 / count }' >>"$folder/runs.$tune"
      done
    done
    before=$(sort -g "$folder/runs.off" | head -n 1) after=$(sort -g "$folder/runs.stored" | head -n 1)
    awk -v name="$name" -v stored="$stored" -v replaced="$replaced" -v a="$before" -v b="$after" -v c="$cold_rules" \
      -v d="$cold_measured" 'BEGIN {
        printf "| %s | %d | %d | %.3f | %.3f | %.2f | %.2f | %.2f |\n", name, stored, replaced, a, b, b / a, c, d }'
  done
} >"$folder/table.md"
awk -v table="$folder/table.md" '
  /<!-- tuning -->/ { print; while ((getline line < table) > 0) print line; skips = 1; next }
  /<!-- end of tuning -->/ { skips = 0 }
  !skips { print }' "$page" >"$folder/page.md"
cat "$folder/page.md" >"$page"
