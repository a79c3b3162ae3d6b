#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests the check that a program computes on a device (tests/compare/device_use.py): it accepts a network on the plugin, and rejects the
# same network on the portable kernels, and a program whose first run only uses the device.
#
#   device_use_test.sh ETBACKEND PLUGIN LAYER SOURCES
set -u
etbackend=$1 plugin=$2 layer=$3 sources=$4
fail() { echo "FAILED: $*"; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
command -v python3 >/dev/null || skip "no python3"
model=$sources/tests/fixtures/archives/two_regions.pt2 check=$sources/tests/compare/device_use.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$etbackend" compile "$model" -b "$plugin" -o "$folder/device.pte" >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
"$etbackend" compile "$model" -o "$folder/portable.pte" >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
"$etbackend" run "$folder/device.pte" --random 1 >"$folder/log" 2>&1 || skip "no device: $(cat "$folder/log")"

python3 "$check" "$layer" "$etbackend" run "$folder/device.pte" --random 1 --repeat COUNT >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
grep -q '^[1-9][0-9]* dispatches a run on ' "$folder/log" || fail "$(cat "$folder/log")"
cat "$folder/log"

python3 "$check" "$layer" "$etbackend" run "$folder/portable.pte" --random 1 --repeat COUNT >"$folder/log" 2>&1 && fail "portable kernels pass"
grep -q 'submits nothing to a device' "$folder/log" || fail "$(cat "$folder/log")"

# The number of runs is not passed on, so that no run but the first one uses the device.
python3 "$check" "$layer" sh -c "'$etbackend' run '$folder/device.pte' --random 1 # COUNT" >"$folder/log" 2>&1 && fail "one run passes"
grep -q 'its runs do not use the device' "$folder/log" || fail "$(cat "$folder/log")"

# A layer that is not built is an error of its own.
python3 "$check" "$folder" "$etbackend" --version >"$folder/log" 2>&1 && fail "a folder without a layer passes"
grep -q 'no layer in' "$folder/log" || fail "$(cat "$folder/log")"
