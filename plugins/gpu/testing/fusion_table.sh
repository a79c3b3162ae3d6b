#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures networks with and without fusion of chains, in alternating processes, and writes a table between two marks of a page.
#
#   fusion_table.sh ETBACKEND ZOO BACKEND ID PAGE NETWORK...
#   fusion_table.sh build/dev/bin/etbackend tests/fixtures/zoo vulkan EtbVulkanBackend docs/vulkan.md mobilenet_v3 lstm
#
# Times are the least of four rounds: on a busy machine others measure the neighbours. Loads are load and first run, without and with
# the caches of the host, Mesa and PoCL. Dispatched nodes are those with an event in a profile.
set -eu
etbackend=$1 zoo=$2 backend=$3 id=$4 page=$5
shift 5
folder=$(mktemp -d)
export XDG_CACHE_HOME="$folder/cache" POCL_CACHE_DIR="$folder/cache/pocl"
trap 'rm -rf "$folder"' EXIT
# Prints a number of a report in us.
number() { sed -n "s/^      \"$1\": \([0-9.]*\),*$/\1/p" "$folder/report.json"; }
# Measures so many runs of the program in a process.
measure() {
  "$etbackend" bench "$folder/program.pte" --samples 1 --warmup 1 --repeat "$1" --json --backend-option "$id:fusion=$fusion" \
    >"$folder/report.json" 2>"$folder/log.txt"
}
{
  echo '| network | dispatched nodes, before | after | ms a run, before | after | ratio | load, before | after | with caches, before | after |'
  echo '|---|---|---|---|---|---|---|---|---|---|'
  for name in "$@"; do
    "$etbackend" compile -b "$backend" "$zoo/$name.pt2" -o "$folder/program.pte" >"$folder/log.txt" 2>&1
    for fusion in off on; do
      "$etbackend" run "$folder/program.pte" --random 1 --profile "$folder/run.etdp" --backend-option "$id:fusion=$fusion" \
        >"$folder/log.txt" 2>&1
      "$etbackend" inspect "$folder/run.etdp" | grep -cE '^ +[A-Za-z]+ #[0-9]+ ' >"$folder/nodes.$fusion"
      : >"$folder/runs.$fusion"
    done
    for round in 1 2 3 4; do
      for fusion in off on; do
        export MESA_SHADER_CACHE_DISABLE=true POCL_KERNEL_CACHE=0 ETBACKEND_PLUGIN_CACHE=off
        measure 200
        line="$(number min_us) $(number init_us) $(number first_us)"
        unset MESA_SHADER_CACHE_DISABLE POCL_KERNEL_CACHE ETBACKEND_PLUGIN_CACHE
        measure 1
        echo "$line $(number init_us) $(number first_us)" >>"$folder/runs.$fusion"
      done
    done
    for fusion in off on; do
      awk '{ if (NR == 1 || $1 < run) run = $1
             if (NR == 1 || $2 + $3 < cold) cold = $2 + $3
             if (NR == 1 || $4 + $5 < warm) warm = $4 + $5 }
        END { print run / 1000, cold / 1000, warm / 1000 }' "$folder/runs.$fusion" >"$folder/least.$fusion"
    done
    read -r before_run before_cold before_warm <"$folder/least.off"
    read -r after_run after_cold after_warm <"$folder/least.on"
    awk -v name="$name" -v nodes_before="$(cat "$folder/nodes.off")" -v nodes_after="$(cat "$folder/nodes.on")" \
      -v a="$before_run" -v b="$after_run" -v c="$before_cold" -v d="$after_cold" \
      -v e="$before_warm" -v f="$after_warm" 'BEGIN {
        printf "| %s | %d | %d | %.2f | %.2f | %.2f | %.0f | %.0f | %.0f | %.0f |\n",
          name, nodes_before, nodes_after, a, b, b / a, c, d, e, f }'
  done
} >"$folder/table.md"
awk -v table="$folder/table.md" '
  /<!-- fusion -->/ { print; while ((getline line < table) > 0) print line; skips = 1; next }
  /<!-- end of fusion -->/ { skips = 0 }
  !skips { print }' "$page" >"$folder/page.md"
cat "$folder/page.md" >"$page"
