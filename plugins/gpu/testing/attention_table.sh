#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a page's table of attention before and after fusion: milliseconds of processor time of a run, the least of processes that
# alternate, and device memory of a context.
#
#   attention_table.sh BENCHMARK PAGE     BENCHMARK: vulkan_benchmark or opencl_benchmark
set -eu
benchmark=$1 page=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Prints "ms MiB" of a benchmark.
measure() {
  "$benchmark" --benchmark_filter="^$1/$2/" --benchmark_min_time=0.4 --benchmark_format=csv 2>"$folder/log.txt" |
    awk -F, '/^name,/ { for (i = 1; i <= NF; ++i) { if ($i == "cpu_time") cpu = i; if ($i ~ /MiB/) memory = i } }
             /^"/ { print $cpu, $memory }'
}
{
  echo '| attention | ms, before | after | ratio | MiB, before | after |'
  echo '|---|---|---|---|---|---|'
  while IFS=: read -r name text; do
    for fusion in 0 1; do : >"$folder/$fusion"; done
    for round in 1 2 3 4 5; do
      for fusion in 0 1; do measure "$name" "$fusion" >>"$folder/$fusion"; done
    done
    for fusion in 0 1; do sort -g "$folder/$fusion" | head -n 1 >"$folder/least.$fusion"; done
    paste -d ' ' "$folder/least.0" "$folder/least.1" |
      awk -v text="$text" '{ printf "| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", text, $1, $3, $3 / $1, $2, $4 }'
  done <<END
attention_512:8 heads of 64, 512 tokens, mask and guard
attention_1024:8 heads of 64, 1024 tokens, mask and guard
attention_one_row:8 heads of 64, one token and 1024 keys, mask and guard
attention_197:12 heads of 64, 197 tokens, guard (a vision transformer)
attention_windows:64 windows, 4 heads of 32, 49 tokens, mask
attention_128_columns:8 heads of 128, 256 tokens, mask
attention_small:4 windows, 2 heads of 4, 16 tokens, mask
attention_shared_row:32 heads of 64 that share 8, one token and 512 keys, where
attention_shared:32 heads of 64 that share 8, 128 tokens and 512 keys, where
END
} >"$folder/table.md"
awk -v table="$folder/table.md" '
  /<!-- attention -->/ { print; while ((getline line < table) > 0) print line; skips = 1; next }
  /<!-- end of attention -->/ { skips = 0 }
  !skips { print }' "$page" >"$folder/page.md"
cat "$folder/page.md" >"$page"
