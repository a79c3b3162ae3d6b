#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the table of docs/selective_build.md: text of a program with the core and the kernels of some models, less that of an
# empty program, for this machine at -Os. All kernels take some minutes to compile.
# usage: sizes.sh ETBACKEND REPOSITORY BUILD_FOLDER
set -euo pipefail
etbackend=$1 repository=$(cd "$2" && pwd) build=$3
mkdir -p "$build/lists"
build=$(cd "$build" && pwd)
: >"$build/lists/none.yaml"
"$etbackend" select "$repository/tests/fixtures/programs/add.pte" -o "$build/lists/add.yaml"
"$etbackend" compile "$repository/tests/fixtures/ds_cnn/ds_cnn.pt2" -o "$build/ds_cnn.pte"
"$etbackend" select "$build/ds_cnn.pte" -o "$build/lists/ds_cnn.yaml"
"$etbackend" compile "$repository/tests/fixtures/zoo/mobilenet_v2.pt2" -o "$build/mobilenet_v2.pte"
"$etbackend" select "$build/mobilenet_v2.pte" -o "$build/lists/mobilenet_v2.yaml"
"${CMAKE:-cmake}" -G Ninja -S "$repository/tests/select/sizes" -B "$build" -DCMAKE_BUILD_TYPE=MinSizeRel "-DREPOSITORY=$repository" \
  "-DLISTS=$build/lists" ${LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER=$LAUNCHER} >"$build/configure.log"
"${CMAKE:-cmake}" --build "$build" -j "${JOBS:-2}" >"$build/build.log" || { tail -40 "$build/build.log"; exit 1; }
text_of() { size "$build/$1" | awk 'NR == 2 { print $1 }'; }
empty=$(text_of empty)
printf '| run time | operators | bytes of text |\n|---|---|---|\n'
for name in none add ds_cnn mobilenet_v2; do
  printf '| %s | %s | %s |\n' "$name" "$(grep -c '^  [a-z_]*::' "$build/lists/$name.yaml" || true)" "$(($(text_of $name) - empty))"
done
printf '| all | all | %s |\n' "$(($(text_of every_kernel) - empty))"
