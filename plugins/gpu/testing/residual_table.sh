#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the networks with residuals of two builds, and writes a table between two marks of a page: dispatched nodes, and
# milliseconds of processor time of a run, the least of processes that alternate.
#
#   residual_table.sh BEFORE AFTER PAGE     BEFORE, AFTER: vulkan_benchmark or opencl_benchmark of each build
set -eu
before=$1 after=$2 page=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Prints "ms nodes" of a benchmark.
measure() {
  "$1" --benchmark_filter="^$2/1/" --benchmark_min_time=1 --benchmark_format=csv 2>"$folder/log.txt" |
    awk -F, '/^name,/ { for (i = 1; i <= NF; ++i) { if ($i == "cpu_time") cpu = i; if ($i ~ /nodes/) nodes = i } }
             /^"/ { print $cpu, $nodes }'
}
{
  echo '| network | dispatched nodes, before | after | ms a run, before | after | ratio |'
  echo '|---|---|---|---|---|---|'
  while IFS=: read -r name text; do
    : >"$folder/before"
    : >"$folder/after"
    for round in 1 2 3 4 5; do
      measure "$before" "$name" >>"$folder/before"
      measure "$after" "$name" >>"$folder/after"
    done
    for side in before after; do sort -g "$folder/$side" | head -n 1 >"$folder/least.$side"; done
    paste -d ' ' "$folder/least.before" "$folder/least.after" |
      awk -v text="$text" '{ printf "| %s | %d | %d | %.2f | %.2f | %.3f |\n", text, $2, $4, $1, $3, $3 / $1 }'
  done <<END
resnet18:ResNet-18, 224 x 224
transformer_384:transformer, 6 blocks of 384, 64 tokens
transformer_192:vision transformer, 6 blocks of 192, 197 tokens
END
} >"$folder/table.md"
awk -v table="$folder/table.md" '
  /<!-- residuals -->/ { print; while ((getline line < table) > 0) print line; skips = 1; next }
  /<!-- end of residuals -->/ { skips = 0 }
  !skips { print }' "$page" >"$folder/page.md"
cat "$folder/page.md" >"$page"
