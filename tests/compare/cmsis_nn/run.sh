#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CMSIS-NN beside plugins/dsp_stub and the portable int8 kernels. Prints tables for docs/dsp_stub.md and docs/microcontroller.md.
#
# usage: run.sh CMSIS_NN codes [LAYERS [PYTHON]]   equal codes on this machine; PYTHON has tosa-tools: the TOSA reference model, too
#        run.sh CMSIS_NN ticks                     ticks of layers on Cortex-M3, M4 and M55 under QEMU, and equal codes of 900 random ones
#
# CMSIS_NN: a folder with CMSIS-NN's Include and Source; it is compiled with and without single rounding, optimised as its own build
# does. `ticks` needs what docs/examples/cortex_m/run.sh needs. BUILD: the folder to build in.
set -euo pipefail
cmsis_nn=$(cd "${1:?the folder of CMSIS-NN}" && pwd) what=${2:-codes} layers=${3:-300} python=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-build/compare_cmsis_nn}
arguments=("-DCMSIS_NN=$cmsis_nn")
if command -v ccache >/dev/null; then
  arguments+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

# make_in FOLDER [argument of cmake...]
make_in() {
  local folder=$1
  shift
  mkdir -p "$folder"
  { cmake -S "$here" -B "$folder" "${arguments[@]}" "$@" && cmake --build "$folder" -j "${JOBS:-2}"; } >"$folder/build.log" 2>&1 ||
    { tail -40 "$folder/build.log"; exit 1; }
}

if [ "$what" = codes ]; then
  make_in "$build/host" -DCMAKE_BUILD_TYPE=RelWithDebInfo
  rm -rf "$build/layers"
  mkdir -p "$build/layers"
  printf '%s\n' "| what | peer | layers | elements | inside of the range | different | largest difference |" "|---|---|---|---|---|---|---|"
  "$build/host/compare_single" "$layers" "$build/layers"
  "$build/host/compare_double" "$layers"
  if [ -n "$python" ]; then "$python" "$here/compare_tosa.py" "$build/layers"; fi
  exit
fi
for board in mps2-an385 mps2-an386 mps3-an547; do
  make_in "$build/$board" -DCMAKE_BUILD_TYPE=MinSizeRel "-DBOARD=$board" \
    "-DCMAKE_TOOLCHAIN_FILE=$here/../../../docs/examples/cortex_m/arm_none_eabi.cmake"
  timeout 300 qemu-system-arm -machine "$board" -nographic -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native -kernel "$build/$board/ticks.elf" 2>&1
done | awk -F ' *[|] *' '
  /REFUSED|DIFFERENT/ { print; failed = 1 }
  /random layers|out of range/ { random = random "\n" $0 }
  NF > 5 { if (!($3 in row)) names[++count] = $3; row[$3] = row[$3] " " $4 " | " $5 " |" }
  END {
    print "| layer | M3: CMSIS-NN | ours | M4: CMSIS-NN | ours | M55: CMSIS-NN | ours |"
    print "|---|---|---|---|---|---|---|"
    for (i = 1; i <= count; ++i) print "| " names[i] " |" row[names[i]]
    print random
    exit failed
  }'
