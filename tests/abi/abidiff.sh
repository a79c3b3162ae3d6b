#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the types of the ABI, as abidiff sees them in a compiled probe, with the committed dump
# etb_abi_1_0.abi. With --rebase, writes the dump. An added type or appended field fails, too: the ABI changes
# only on purpose.
# usage: abidiff.sh CC [--rebase]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dump=$here/etb_abi_1_0.abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$here" && "$1" -std=gnu11 -g -O0 -shared -fPIC -fvisibility=hidden -I../../api/include abi_probe.c -o "$work/probe.so")
if [ "${2:-}" = --rebase ]; then
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$dump" "$work/probe.so"
  echo "wrote $dump"
else
  abidiff --harmless --no-show-locs "$dump" "$work/probe.so"
fi
