#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles a model for a plugin for GPUs and checks that values between its regions stay on the device, with the same results.
# Then one of the regions runs on the other such plugin: the payloads have one format. Skipped (exit code 77) on a machine
# without a device; PACKAGE of Debian has one.
#
# usage: kept_values_test.sh ETBACKEND PLUGIN PACKAGE MODEL.pt2
set -euo pipefail
etbackend=$1 plugin=$2 package=$3 model=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The host knows the device of a delegate if the plugin has one.
export POCL_DEVICES=basic
has_device() { "$etbackend" list --devices | sed -n "/^org.etbackend.$1 /,/^[a-z]/p" | grep -q '^    device '; }
if ! has_device "$plugin"; then
  echo "skipped: no device for $plugin; on Debian, install $package"
  exit 77
fi
count() { sed -n "s/^ *\"$2\": \([0-9]*\),*$/\1/p" "$dir/$1.json"; }
run() { "$etbackend" run "$1" --random 1 --output-dir "$dir/$2" --json "${@:3}" >"$dir/$2.json" 2>"$dir/$2.err" || { cat "$dir/$2.err"; exit 1; }; }

# check PROGRAM TEXT
check() {
  rm -rf "$dir/kept" "$dir/copied"
  run "$1" kept
  run "$1" copied --layer trace  # with a layer, all values pass through memory of the host
  local kept passed copied
  kept=$(count kept device_arguments) passed=$(count kept host_arguments) copied=$(count copied host_arguments)
  echo "$2: $kept arguments stayed, $passed passed memory of the host; $copied without buffers"
  [ "$kept" -gt 0 ] || { echo "FAILED: no value stayed on the device"; exit 1; }
  [ "$(count copied device_arguments)" = 0 ] || { echo "FAILED: a value stayed in a run with a layer"; exit 1; }
  [ $((kept + passed)) = "$copied" ] || { echo "FAILED: arguments are missing"; exit 1; }
  for file in "$dir"/copied/*.npy; do
    cmp "$file" "$dir/kept/$(basename "$file")" || { echo "FAILED: other results"; exit 1; }
  done
}

"$etbackend" compile -b "$plugin" "$model" -o "$dir/model.pte" >/dev/null
check "$dir/model.pte" "$plugin"
if [ "$plugin" = vulkan ] && has_device opencl; then
  LC_ALL=C sed '0,/EtbVulkanBackend/s//EtbOpenclBackend/' "$dir/model.pte" >"$dir/both.pte"
  check "$dir/both.pte" "vulkan and opencl"
fi
