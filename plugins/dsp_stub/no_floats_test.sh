#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the device and the driver in C11 for general registers only. Then arithmetic on floats is an error or a call of a function,
# and the functions that they call show that they have no heap.
#
# usage: no_floats_test.sh CC NM BUILD_FOLDER
set -euo pipefail
cc=$1 nm=$2 build=$3
cd "$(dirname "$0")/../.."
rm -rf "$build"
mkdir -p "$build"
compile() { "$cc" -std=c11 -O2 -mgeneral-regs-only -fno-stack-protector -I. -Iapi/include -c "$1" -o "$2"; }
if ! echo 'int one(void) { return 1; }' | "$cc" -x c -mgeneral-regs-only -c - -o "$build/try.o" 2>/dev/null; then
  echo "skipped: the compiler has no -mgeneral-regs-only"
  exit 77
fi
# The test can fail: this one needs a function for its product.
echo 'int half(int x) { float y = (float)x; y *= 0.5f; return (int)y; }' >"$build/floats.c"
if compile "$build/floats.c" "$build/floats.o" 2>/dev/null && [ -z "$("$nm" -u "$build/floats.o")" ]; then
  echo "FAILED: the compiler takes floats without a call"
  exit 1
fi
check() {
  local allowed=$1 source objects=() others
  shift
  for source in "$@"; do
    compile "$source" "$build/$(basename "$source").o"
    objects+=("$build/$(basename "$source").o")
  done
  "$cc" -r -nostdlib -o "$build/all.o" "${objects[@]}"
  others=$("$nm" -u "$build/all.o" | awk '{ print $2 }' | grep -vxE "$allowed" || true)
  if [ -n "$others" ]; then echo "FAILED: the files need $others, expected at most $allowed"; exit 1; fi
  echo "${#objects[@]} files need at most $allowed"
}
check 'memcpy|memset' plugins/dsp_stub/core/*.c
# The driver's texts of errors are the application's to format; its memory is that of alloc/1.
check 'memcpy|memset|strncmp|snprintf' plugins/dsp_stub/core/*.c plugins/dsp_stub/driver/*.c
