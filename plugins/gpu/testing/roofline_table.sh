#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a page's tables of kernels beside the device's limits, and of the cost of dispatches and regions.
#
#   roofline_table.sh BENCHMARK PAGE [us]     BENCHMARK: vulkan_benchmark or opencl_benchmark
#
# Times are processor time of all threads, or with "us" time on the clock, for devices other than processors: the least of three
# processes. The limits are those of the kernel "peak", and the driver's own copy, whose bytes are read and written.
set -eu
benchmark=$1 page=$2 unit=${3:-cpu_us}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Appends lines "name label flop bytes us cpu_us" of the benchmarks that match.
measure() {
  "$benchmark" --benchmark_filter="$1" --benchmark_min_time="$2" --benchmark_format=csv 2>"$folder/log.txt" |
    awk -F, '/^name,/ { for (i = 1; i <= NF; ++i) { gsub(/"/, "", $i); at[$i] = i } }
             /^"/ { gsub(/"/, ""); sub(/^roofline_/, ""); sub("/real_time", ""); label = $at["label"] == "" ? "-" : $at["label"]
                    print $at["name"], label, $at["flop"] + 0, $at["bytes"] + 0, $at["us"], $at["cpu_us"] }' >>"$folder/all"
}
for round in 1 2 3; do
  measure '^roofline_(peak|copy|product|first_layer|convolution_64|pointwise|pointwise_7|depthwise|depthwise_2|softmax|layer_norm|sum)/' 0.3
  measure '^roofline_(dispatches|regions)/' 0.2
done
awk '{ if (!($1 in us)) { order[++n] = $1; us[$1] = $5; cpu[$1] = $6 }
       label[$1] = $2; flop[$1] = $3; bytes[$1] = $4
       if ($5 < us[$1]) us[$1] = $5
       if ($6 < cpu[$1]) cpu[$1] = $6 }
  END { for (i = 1; i <= n; ++i) print order[i], label[order[i]], flop[order[i]], bytes[order[i]], us[order[i]], cpu[order[i]] }' \
  "$folder/all" >"$folder/least"
awk -v unit="$unit" '
  BEGIN {
    text["product"] = "product of 1024 x 1024"
    text["first_layer"] = "first layer, 3 to 32 channels, 224 x 224, stride 2"
    text["convolution_64"] = "convolution of 3 x 3, 64 to 64 channels, 56 x 56"
    text["pointwise"] = "product of 24 to 144 channels, 56 x 56"
    text["pointwise_7"] = "product of 160 to 960 channels, 7 x 7"
    text["depthwise"] = "depthwise, 144 channels, 56 x 56"
    text["depthwise_2"] = "depthwise, 96 channels, 112 x 112, stride 2"
    text["softmax"] = "softmax, 1024 rows of 1024"
    text["layer_norm"] = "layer norm, 1024 rows of 1024"
    text["sum"] = "sum of two tensors of 16 M numbers"
    print "| work | kernel | million operations | MB | operations a byte | G operations/s | GB/s | attainable | reached |"
    print "|---|---|---|---|---|---|---|---|---|"
  }
  { name = $1; time = unit == "us" ? $5 : $6 }
  name == "peak" { peak = $3 / time / 1000; printf "| limit: chains in registers | %s | | | | %.1f | | | |\n", $2, peak }
  name == "copy" { bandwidth = $4 / time / 1000; printf "| limit: copies by the driver | | | | | | %.1f | | |\n", bandwidth }
  name in text {
    intensity = $3 / $4; rate = $3 / time / 1000
    attainable = intensity * bandwidth < peak ? intensity * bandwidth : peak
    printf "| %s | %s | %.1f | %.2f | %.2f | %.1f | %.1f | %.1f | %.0f %% |\n", text[name], $2, $3 / 1e6, $4 / 1e6, intensity, rate,
      $4 / time / 1000, attainable, 100 * rate / attainable }' "$folder/least" >"$folder/roofline.md"
awk '
  { us[$1] = $5; cpu[$1] = $6 }
  END {
    print "| cost | microseconds | processor microseconds |"
    print "|---|---|---|"
    printf "| a dispatch after others | %.2f | %.2f |\n", (us["dispatches/129"] - us["dispatches/1"]) / 128, (cpu["dispatches/129"] - cpu["dispatches/1"]) / 128
    printf "| a region after others, with one dispatch | %.1f | %.1f |\n", (us["regions/8"] - us["regions/1"]) / 7, (cpu["regions/8"] - cpu["regions/1"]) / 7
  }' "$folder/least" >"$folder/overhead.md"
for mark in roofline overhead; do
  awk -v table="$folder/$mark.md" -v mark="$mark" '
    $0 == "<!-- " mark " -->" { print; while ((getline line < table) > 0) print line; skips = 1; next }
    $0 == "<!-- end of " mark " -->" { skips = 0 }
    !skips { print }' "$page" >"$folder/page.md"
  cat "$folder/page.md" >"$page"
done
