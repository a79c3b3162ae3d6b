#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures networks with and without fusion of chains, in alternating processes, and writes a table between two marks of a page.
#
#   fusion_table.sh ETBACKEND ZOO BACKEND ID PAGE NETWORK...
#   fusion_table.sh build/dev/bin/etbackend tests/fixtures/zoo vulkan EtbVulkanBackend docs/vulkan.md mobilenet_v3 lstm
#
# Times are the least of five rounds: on a busy machine others measure the neighbours. Cold is load and first run without the caches of Mesa
# and PoCL. Dispatched nodes are those with an event in a profile.
set -eu
etbackend=$1 zoo=$2 backend=$3 id=$4 page=$5
shift 5
export MESA_SHADER_CACHE_DISABLE=true POCL_KERNEL_CACHE=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Prints a number of a report in ms.
number() { sed -n "s/^      \"$1\": \([0-9.]*\),*$/\1/p" "$folder/report.json"; }
{
  echo '| network | dispatched nodes, before | after | ms a run, before | after | ratio | cold, before | after |'
  echo '|---|---|---|---|---|---|---|---|'
  for name in "$@"; do
    "$etbackend" compile -b "$backend" "$zoo/$name.pt2" -o "$folder/program.pte" >"$folder/log.txt" 2>&1
    for fusion in off on; do
      "$etbackend" run "$folder/program.pte" --random 1 --profile "$folder/run.etdp" --backend-option "$id:fusion=$fusion" \
        >"$folder/log.txt" 2>&1
      "$etbackend" inspect "$folder/run.etdp" | grep -cE '^ +[A-Za-z]+ #[0-9]+ ' >"$folder/nodes.$fusion"
      : >"$folder/runs.$fusion"
    done
    for round in 1 2 3 4 5; do
      for fusion in off on; do
        "$etbackend" bench "$folder/program.pte" --samples 1 --repeat 200 --json --backend-option "$id:fusion=$fusion" \
          >"$folder/report.json" 2>"$folder/log.txt"
        echo "$(number min_us) $(number init_us) $(number first_us)" >>"$folder/runs.$fusion"
      done
    done
    for fusion in off on; do
      awk '{ if (NR == 1 || $1 < run) run = $1; if (NR == 1 || $2 + $3 < cold) cold = $2 + $3 }
        END { print run / 1000, cold / 1000 }' "$folder/runs.$fusion" >"$folder/least.$fusion"
    done
    read -r before_run before_cold <"$folder/least.off"
    read -r after_run after_cold <"$folder/least.on"
    awk -v name="$name" -v nodes_before="$(cat "$folder/nodes.off")" -v nodes_after="$(cat "$folder/nodes.on")" \
      -v a="$before_run" -v b="$after_run" -v c="$before_cold" -v d="$after_cold" 'BEGIN {
        printf "| %s | %d | %d | %.2f | %.2f | %.2f | %.0f | %.0f |\n", name, nodes_before, nodes_after, a, b, b / a, c, d }'
  done
} >"$folder/table.md"
awk -v table="$folder/table.md" '
  /<!-- fusion -->/ { print; while ((getline line < table) > 0) print line; skips = 1; next }
  /<!-- end of fusion -->/ { skips = 0 }
  !skips { print }' "$page" >"$folder/page.md"
cat "$folder/page.md" >"$page"
