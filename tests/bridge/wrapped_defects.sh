#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that verify names each defect of a BackendInterface behind etb/bridge/executorch.hpp (faulty_backend.hpp), and
# that the backend without one passes the same case.
# usage: wrapped_defects.sh ETBACKEND BRIDGE_DIR      BRIDGE_DIR has plugins.d and the folders faulty_NAME
set -euo pipefail
program=$1 folder=$2
case_id=op.mm.f32.1x1__1x1.stat

# expect FOLDER EXIT_CODE TEXT
expect() {
  local output code=0
  output=$("$program" --plugin-path "$folder/$1" verify official_xnnpack --case "$case_id" 2>&1) || code=$?
  if [ "$code" != "$2" ] || ! grep -qF -- "$3" <<<"$output"; then
    printf '%s\nFAILED: %s: exit code %s, expected %s and: %s\n' "$output" "$1" "$code" "$2" "$3"
    exit 1
  fi
  grep -qF 'org.etbackend.bridge.official-xnnpack' <<<"$output" || { echo "FAILED: $1: the plugin is not named"; exit 1; }
  echo "$1: $3"
}
expect plugins.d 0 "1 / 1 of 1 cases"
expect faulty_aborts 1 "killed by signal 6 (Aborted) in execute"
expect faulty_other_count 1 "query reports 2 inputs and 2 outputs, the region has 2 and 1"
expect faulty_other_sizes 1 "execute fails: sizes [0, 1], expected [1, 1]"
expect faulty_keeps_pointers 1 "outputs[0].data after the call: write at byte 0"
