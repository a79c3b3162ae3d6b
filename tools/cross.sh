#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the run time for another processor, with the kernels of all example models and the driver of dsp_stub, and runs the
# models under QEMU. Their outputs are compared with PyTorch's, and those of the DSP with the ones of this machine.
#
# usage: cross.sh TARGET [BUILD_FOLDER]      TARGET: aarch64, riscv64 or host (this machine, to compare with)
#
# Needs Debian's g++-aarch64-linux-gnu (or g++-riscv64-linux-gnu), qemu-user, cmake, ninja-build and flatbuffers-compiler, and the
# program `etbackend` ($ETBACKEND, else that of PATH) with the plugin dsp_stub in $PLUGINS. MODELS='lenet ds_cnn' chooses models.
# Exit code 77: a tool is missing.
set -euo pipefail
target=${1:?usage: cross.sh TARGET [BUILD_FOLDER]} repository=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-build/cross/$target}
etbackend=${ETBACKEND:-etbackend}
need() { command -v "$1" >/dev/null || { echo "skipped: no $1 (Debian: $2)"; exit 77; }; }
need cmake cmake
need ninja ninja-build
need flatc flatbuffers-compiler
need "$etbackend" "this repository's own"
emulator=()
case $target in
  host) ;;
  aarch64 | riscv64)
    need "$target-linux-gnu-g++" "g++-$target-linux-gnu"
    need "qemu-$target" qemu-user
    emulator=("qemu-$target")
    ;;
  *) echo "target '$target', expected aarch64, riscv64 or host"; exit 2 ;;
esac
mkdir -p "$build/models"
build=$(cd "$build" && pwd)
models=$build/models list=$build/models/models.txt
: >"$list"

# add NAME FOLDER TOLERANCE: a portable program, with the arrays that PyTorch read and wrote.
add() {
  local name=$1 folder=$2 inputs=() outputs=() i
  if [ -n "${MODELS:-}" ] && [[ " $MODELS " != *" $name "* ]]; then return 0; fi
  # Inputs that are no array, or that the program takes in channels last.
  if [ -e "$folder/$name.in.1.txt" ] || [[ $name == *channels_last ]]; then return 0; fi
  for ((i = 0; ; ++i)); do [ -e "$folder/$name.in.$i.npy" ] || break; inputs+=("$name.in.$i.npy"); done
  for ((i = 0; ; ++i)); do [ -e "$folder/$name.out.$i.npy" ] || break; outputs+=("$name.out.$i.npy"); done
  if [ ${#outputs[@]} = 0 ]; then return 0; fi
  "$etbackend" compile "$folder/$name.pt2" -o "$models/$name.pte" --quiet >/dev/null 2>"$build/compile.log" || { cat "$build/compile.log"; return 1; }
  (cd "$folder" && cp -f "${inputs[@]}" "${outputs[@]}" "$models/")
  echo "$name.pte $3 ${inputs[*]} -> ${outputs[*]}" >>"$list"
}
for folder in archives zoo; do
  for archive in "$repository/tests/fixtures/$folder"/*.pt2; do
    name=$(basename "$archive" .pt2) tolerance=1e-5
    case $name in *_q8* | *8da4w*) tolerance=2e-2 ;; esac
    add "$name" "$repository/tests/fixtures/$folder" "$tolerance"
  done
done
# DS-CNN, portable and on the DSP: this machine's outputs.
if [ -z "${MODELS:-}" ] || [[ " $MODELS " == *" ds_cnn "* ]]; then
  cp -f "$repository/tests/fixtures/ds_cnn/word.npy" "$models/"
  for plugin in portable dsp_stub; do
    arguments=()
    if [ $plugin = dsp_stub ]; then arguments=(-b dsp_stub); fi
    "$etbackend" ${PLUGINS:+--plugin-path "$PLUGINS"} compile "$repository/tests/fixtures/ds_cnn/ds_cnn.pt2" -o "$models/ds_cnn_$plugin.pte" "${arguments[@]}" >/dev/null
    "$etbackend" ${PLUGINS:+--plugin-path "$PLUGINS"} run "$models/ds_cnn_$plugin.pte" --input "$models/word.npy" --output-dir "$build/$plugin" >/dev/null
    cp -f "$build/$plugin/0.npy" "$models/ds_cnn_$plugin.out.npy"
    echo "ds_cnn_$plugin.pte 0 word.npy -> ds_cnn_$plugin.out.npy" >>"$list"
  done
fi
"$etbackend" select "$models"/*.pte -o "$models/ops.yaml"

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
(cd "$repository/tests/cross/program" && ETB_CROSS_BUILD=$build cmake --preset "$target" "-DMODELS=$models" "${launcher[@]}") >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log"; exit 1; }
cmake --build "$build" -j "${JOBS:-2}" >"$build/build.log" 2>&1 || { tail -40 "$build/build.log"; exit 1; }
echo "== $target: $(wc -l <"$list") programs, $(grep -c '^  [a-z_]*::' "$models/ops.yaml") operators"
time "${emulator[@]}" "$build/run_models" "$list"
