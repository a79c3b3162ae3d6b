#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test of the OpenCL plugin on Oclgrind, a simulator that sees accesses outside of buffers and data races of kernels, and fails
# on any message of it. Skipped (exit code 77) where Oclgrind is absent (Debian's package oclgrind).
#
# usage: oclgrind_test.sh TEST [ARGUMENTS...]
# ETB_OCLGRIND: its driver, if not that of the package
set -euo pipefail
driver=${ETB_OCLGRIND:-/usr/lib/oclgrind/liboclgrind-rt-icd.so}
[ -e "$driver" ] || { echo "skipped: no $driver (apt-get install oclgrind)"; exit 77; }
messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
export OCL_ICD_VENDORS=$driver OCLGRIND_LOG=$messages OCLGRIND_DATA_RACES=1
"$@"
if [ -s "$messages" ]; then
  head -40 "$messages"
  echo "Oclgrind has messages" >&2
  exit 1
fi
