#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test of the Vulkan plugin under the Khronos validation layer with synchronisation validation, and fails on any
# message of the layer. With --gpu-assisted the layer adds checks to the kernels instead: each access to a buffer, in minutes
# instead of seconds. Skipped (exit code 77) where the layer is absent or older than 1.4, such as Debian's
# vulkan-validationlayers: it does not see a missing barrier. docs/vulkan.md describes where to get a newer one.
#
# usage: validation_test.sh [--gpu-assisted] TEST [ARGUMENTS...]
set -euo pipefail
export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
validation=Synchronization
if [ "${1-}" = --gpu-assisted ]; then
  shift
  validation=GPU-AV
  # Without the checks of the other run, as the layer recommends.
  export VK_LAYER_GPUAV_ENABLE=1 VK_LAYER_VALIDATE_CORE=0
else
  export VK_LAYER_VALIDATE_SYNC=1 VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC=1
fi
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# At each instance the layer reports what it validates, so silence is a missing layer.
export VK_LAYER_REPORT_FLAGS=error,warn,info
status=0
"$@" >"$out" 2>&1 || status=$?
if ! grep -qE "^ +- $validation\$" "$out"; then
  tail -3 "$out"
  [ "$status" -eq 0 ] || exit "$status"
  echo "skipped: no instance with VK_LAYER_KHRONOS_validation of version 1.4 and $validation (VK_LAYER_PATH; docs/vulkan.md)"
  exit 77
fi
# Messages on the layer's own settings are no findings.
if grep -E 'Validation (Error|Warning|Performance)' "$out" | grep -v 'VALIDATION-SETTINGS\|Setting-Limit-Adjusted'; then
  echo "the validation layer has messages" >&2
  exit 1
fi
tail -2 "$out"
exit "$status"
