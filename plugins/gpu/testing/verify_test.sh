#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Verifies a plugin for GPUs. Skipped (exit code 77) on a machine without a device; PACKAGE of Debian has one.
#
# usage: verify_test.sh ETBACKEND LIBRARY PACKAGE [DELEGATE_ID]
set -euo pipefail
etbackend=$1 library=$2 package=$3
name=$(basename "$library" .so)
devices=$("$etbackend" --plugin-path "$(dirname "$library")" list --devices | sed -n "/^org.etbackend.$name /,/^[a-z]/p")
if ! grep -q '^    device ' <<<"$devices" || grep -q 'no device' <<<"$devices"; then
  echo "skipped: no device for $name; on Debian, install $package"
  exit 77
fi
exec "$etbackend" verify "$library" ${4:+--backend "$4"} --profile ci --case-timeout-ms 180000
