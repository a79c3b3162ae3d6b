#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Verifies the Vulkan plugin. Skipped (exit code 77) on a machine without a Vulkan device.
#
# usage: verify_test.sh ETBACKEND LIBRARY
set -euo pipefail
etbackend=$1 library=$2
devices=$("$etbackend" --plugin-path "$(dirname "$library")" list --devices | sed -n '/^org.etbackend.vulkan /,/^[a-z]/p')
if ! grep -q '^    device ' <<<"$devices" || grep -q 'no device' <<<"$devices"; then
  echo "skipped: no Vulkan device; on Debian, install mesa-vulkan-drivers"
  exit 77
fi
exec "$etbackend" verify "$library" --profile ci --case-timeout-ms 60000
