#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles a model for a plugin for GPUs and checks that values between its regions stay on the device, with the same results.
# Skipped (exit code 77) on a machine without a device; PACKAGE of Debian has one.
#
# usage: kept_values_test.sh ETBACKEND PLUGIN PACKAGE MODEL.pt2
set -euo pipefail
etbackend=$1 plugin=$2 package=$3 model=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# PoCL has two devices if a variable says so; one is needed, so that the host knows which one runs.
export POCL_DEVICES=basic
if ! "$etbackend" list --devices | sed -n "/^org.etbackend.$plugin /,/^[a-z]/p" | grep -q '^    device '; then
  echo "skipped: no device for $plugin; on Debian, install $package"
  exit 77
fi
"$etbackend" compile -b "$plugin" "$model" -o "$dir/model.pte" >/dev/null
"$etbackend" run "$dir/model.pte" --random 1 --output-dir "$dir/kept" --json >"$dir/kept.json"
# With a layer, all values pass through memory of the host.
"$etbackend" run "$dir/model.pte" --random 1 --output-dir "$dir/copied" --layer trace --json >"$dir/copied.json" 2>/dev/null
count() { sed -n "s/^ *\"$2\": \([0-9]*\),*$/\1/p" "$dir/$1.json"; }
kept=$(count kept device_arguments) passed=$(count kept host_arguments) copied=$(count copied host_arguments)
echo "$plugin: $kept arguments stayed, $passed passed memory of the host; $copied without buffers"
[ "$kept" -gt 0 ] || { echo "FAILED: no value stayed on the device"; exit 1; }
[ "$(count copied device_arguments)" = 0 ] || { echo "FAILED: a value stayed in a run with a layer"; exit 1; }
[ $((kept + passed)) = "$copied" ] || { echo "FAILED: arguments are missing"; exit 1; }
for file in "$dir"/copied/*.npy; do
  cmp "$file" "$dir/kept/$(basename "$file")" || { echo "FAILED: other results"; exit 1; }
done
