#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles a Llama with a key-value cache for a plugin for GPUs and generates with it. The caches stay on the device between
# runs, with the same results as in memory of the host. Skipped (exit code 77) on a machine without a device; PACKAGE of Debian
# has one.
#
# usage: kept_state_test.sh ETBACKEND PLUGIN PACKAGE LLAMA.pt2      (inputs: int64 ids [1, 3] and positions [3], both below 8)
set -euo pipefail
etbackend=$1 plugin=$2 package=$3 model=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The host knows the device of a delegate if the plugin has one.
export POCL_DEVICES=basic
if ! "$etbackend" list --devices | sed -n "/^org.etbackend.$plugin /,/^[a-z]/p" | grep -q '^    device '; then
  echo "skipped: no device for $plugin; on Debian, install $package"
  exit 77
fi
fail() { echo "FAILED: $1"; exit 1; }

# numbers FILE NUMBER... writes int64 numbers below 8.
numbers() {
  local file=$1
  printf "$(printf '\\%o\\0\\0\\0\\0\\0\\0\\0' "${@:2}")" >"$file"
}
numbers "$dir/ids.bin" 1 2 3
numbers "$dir/positions.bin" 0 1 2
"$etbackend" compile -b "$plugin" "$model" -o "$dir/model.pte" >/dev/null

# count KEY RUNS OPTION... prints a number of `transfers`.
count() {
  "$etbackend" run "$dir/model.pte" --input "$dir/ids.bin" --input "$dir/positions.bin" --repeat "$2" --json "${@:3}" 2>"$dir/err" |
    sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p"
}
# Ten runs more.
more() { echo $(($(count "$1" 12 "${@:2}") - $(count "$1" 2 "${@:2}"))); }
kept=$(more host_bytes) copied=$(more host_bytes --layer trace) stayed=$(more device_arguments)
echo "$plugin: 10 runs pass $kept bytes through memory of the host, $copied without buffers; $stayed arguments stay"
# Four caches of [1, 2, 8, 4] floats, read and written.
[ $((copied - kept)) = $((10 * 4 * 2 * 256)) ] || fail "a cache passed memory of the host"
[ "$stayed" = $((10 * 4 * 2)) ] || fail "arguments are missing"

# generate NAME OPTION... runs 20 steps.
generate() {
  for step in $(seq 0 19); do
    local at=$((step * 5 % 8))
    numbers "$dir/ids.$step.bin" $((step % 8)) $((step * 3 % 8)) $((step / 3))
    numbers "$dir/positions.$step.bin" $at $(((at + 1) % 8)) $(((at + 3) % 8))
    echo "{\"inputs\": [{\"file\": \"$dir/ids.$step.bin\"}, {\"file\": \"$dir/positions.$step.bin\"}], \"output_dir\": \"$dir/$1.$step\"}"
  done | "$etbackend" run "$dir/model.pte" --serve "${@:2}" >"$dir/$1.log" 2>"$dir/err" || { cat "$dir/err"; fail "$1"; }
  ! grep -q '"error"' "$dir/$1.log" || { cat "$dir/$1.log"; fail "$1"; }
}
generate kept
generate overlapped --async
generate copied --layer trace
for step in $(seq 0 19); do
  for name in kept overlapped; do
    cmp "$dir/copied.$step/0.bin" "$dir/$name.$step/0.bin" || fail "step $step of $name has other results"
  done
  [ "$step" = 0 ] || ! cmp -s "$dir/kept.$step/0.bin" "$dir/kept.$((step - 1))/0.bin" || fail "steps have the same results"
done
