#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles some kernels by the compiler of AMD's GPUs (null_hardware.hpp), for each way to have float16. Writes a table between the
# comments "compiled" and "end of compiled" of a page.
#
# usage: compiled_table.sh TEST PAGE      TEST: the program vulkan_null_hardware_test
set -eu
test=$1 page=$2
kernels='UnaryAbs BinaryAdd UnaryExp Where Chain Softmax LayerNorm MatmulWide GroupMatmul GroupConvolution'
table=$(mktemp)
trap 'rm -f "$table"' EXIT
{
  echo '| kernel | instructions, float32 | `storage` | `arithmetic` | cycles, float32 | `storage` | `arithmetic` |'
  echo '|---|---|---|---|---|---|---|'
  for kernel in $kernels; do
    RADV_DEBUG=shaderstats "$test" --gtest_filter="Every/VulkanCompiler.CompilesKernel/$kernel" 2>&1 | awk -v kernel="$kernel" '
      /^Spilled VGPRs: [^0]/ { print kernel " spills registers" >"/dev/stderr"; exit 1 }
      /^Instructions:/ { instructions[++count] = $2 }
      /^Inverse Throughput:/ { cycles[count] = $3 }
      END {
        if (count != 4) { print kernel ": found " count + 0 " kernels, expected 4" >"/dev/stderr"; exit 1 }
        print "| " kernel " | " instructions[1] " | " instructions[2] " | " instructions[4] " | " cycles[1] " | " cycles[2] " | " cycles[4] " |"
      }' || exit 1
  done
} >"$table"
awk -v table="$table" '
  /<!-- end of compiled -->/ { skips = 0 }
  !skips { print }
  /<!-- compiled -->/ { while ((getline line <table) > 0) print line; skips = 1 }' "$page" >"$page.new"
mv "$page.new" "$page"
