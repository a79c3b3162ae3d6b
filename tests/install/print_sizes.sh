#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the sizes of the program, the shared library and the plugins of a Release build, without symbols, and their
# sum. The build itself stays as it is.
#
# usage: print_sizes.sh BUILD
set -eu
build=${1:?usage: print_sizes.sh BUILD}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

size_of() {
  strip -o "$work/stripped" "$1"
  wc -c <"$work/stripped"
}

sum=0
for file in bin/etbackend lib/libetbackend.so plugins.d/xnnpack.so plugins.d/vulkan.so plugins.d/opencl.so; do
  [ -f "$build/$file" ] || { echo "print_sizes: $build/$file: not found, left out" >&2; continue; }
  nbytes=$(size_of "$build/$file")
  sum=$((sum + nbytes))
  printf '%12d  %s\n' "$nbytes" "$(basename "$file")"
done
printf '%12d  sum\n' "$sum"
