#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles DS-CNN, builds its firmware and runs it under QEMU: on portable kernels in float (portable) and in integers (integer), and
# on the DSP (dsp). The board `host` is the twin on this machine: the same scores, and 10,000 damaged programs.
#
# usage: run.sh BOARD [BUILD_FOLDER]      BOARD: mps2-an385, mps2-an386, mps3-an547 or host
# TEXTS=ON: errors have texts. By default they have places, which the build's table turns into texts.
#
# Needs Debian's gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib, qemu-system-arm and flatbuffers-compiler, and
# the program `etbackend` ($ETBACKEND, else that of PATH) with the plugin dsp_stub in $PLUGINS. Exit code 77: a tool is missing.
set -euo pipefail
board=${1:-mps2-an385} here=$(cd "$(dirname "$0")" && pwd)
build=${2:-build/cortex_m/$board}
etbackend=${ETBACKEND:-etbackend} repository=$(cd "$here/../../.." && pwd)
need() { command -v "$1" >/dev/null || { echo "skipped: no $1 (Debian: $2)"; exit 77; }; }
need cmake cmake
need flatc flatbuffers-compiler
need "$etbackend" "this repository's own"
texts=-DTEXTS=${TEXTS:-OFF}
arguments=(-DCMAKE_BUILD_TYPE=MinSizeRel "$texts")
if [ "$board" = host ]; then
  arguments=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "$texts" "-DCMAKE_CXX_FLAGS=-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all"
    "-DCMAKE_C_FLAGS=-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all")
else
  need arm-none-eabi-g++ "gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib"
  need qemu-system-arm qemu-system-arm
  echo '#include <span>' | arm-none-eabi-g++ -x c++ -std=c++20 -fsyntax-only - 2>/dev/null ||
    { echo "skipped: no C++ library for arm-none-eabi (Debian: libstdc++-arm-none-eabi-newlib)"; exit 77; }
  arguments+=("-DCMAKE_TOOLCHAIN_FILE=$here/arm_none_eabi.cmake" "-DBOARD=$board")
fi
if command -v ccache >/dev/null; then
  arguments+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

mkdir -p "$build/models"
build=$(cd "$build" && pwd)
fixture=$repository/tests/fixtures/ds_cnn
"$etbackend" compile "$fixture/ds_cnn.pt2" -o "$build/models/portable.pte"
"$etbackend" compile --integer-kernels "$fixture/ds_cnn.pt2" -o "$build/models/integer.pte"
"$etbackend" ${PLUGINS:+--plugin-path "$PLUGINS"} compile -b dsp_stub "$fixture/ds_cnn.pt2" -o "$build/models/dsp.pte"
cp "$fixture/word.npy" "$build/models/"
cmake -S "$here" -B "$build" "${arguments[@]}" "-DETB_SELECT=$(command -v "$etbackend")" >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log"; exit 1; }
cmake --build "$build" -j "${JOBS:-2}" >"$build/build.log" 2>&1 || { tail -40 "$build/build.log"; exit 1; }

for program in portable integer dsp; do
  echo "== $board, $program"
  if [ "$board" = host ]; then
    "$build/${program}_twin" "$build/models/$program.pte" "$build/models/word.npy" >"$build/$program.txt"
    grep -v '^place ' "$build/$program.txt"
    # Each place has a text.
    grep '^place ' "$build/$program.txt" | while read -r _ place; do
      "$build/etb_generated/error_texts" --explain "$build/etb_runtime/${program}_runtime/errors.txt" "$place" ||
        { echo "FAILED: a place without a text: $place"; exit 1; }
    done
  else
    elf=$build/$program.elf
    # Heap, exceptions and iostream; board.ld refuses static initialisers, and -fno-rtti RTTI.
    if arm-none-eabi-nm "$elf" | grep -E ' [TtWw] (malloc|_malloc_r|free|_free_r|_sbrk|_Znwj|_ZdlPv|__cxa_throw|__cxa_allocate_exception)$|_ZNSt8ios_base|_ZTI'; then
      echo "FAILED: $elf has heap, exceptions, RTTI or iostream"
      exit 1
    fi
    timeout 300 qemu-system-arm -machine "$board" -nographic -monitor none -serial none -icount shift=0 \
      -semihosting-config enable=on,target=native -kernel "$elf" 2>&1 | tee "$build/$program.txt"
  fi
  if [ "$board" != host ]; then awk -f "$here/text_of_parts.awk" "$build/$program.map"; fi
  grep -q '^class 7$' "$build/$program.txt" || { echo "FAILED: expected class 7"; exit 1; }
done
