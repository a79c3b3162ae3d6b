#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a run time with the kernel of x + y from a list and from the model. It runs that model, refuses other dtypes and another
# model with the missing operator and the way to add it, and contains no other kernel or loop. Wrong lists are errors of CMake.
# usage: selective_build.sh ETBACKEND REPOSITORY BUILD_FOLDER
set -euo pipefail
etbackend=$1 repository=$2 build=$3
programs=$repository/tests/fixtures/programs
fail() { echo "FAILED: $*"; exit 1; }
mkdir -p "$build"
"$etbackend" select "$programs/add.pte" -o "$build/ops.yaml"
diff - "$build/ops.yaml" <<'YAML'
# Written by etbackend select; read by etb_add_runtime(... OPS).
operators:
  aten::add.out: [float32]
dtypes: [float32]
YAML
configure() {
  "${CMAKE:-cmake}" -G Ninja -S "$repository/tests/select/consumer" -B "$build/$1" -DCMAKE_BUILD_TYPE=MinSizeRel "-DREPOSITORY=$repository" \
    ${LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER=$LAUNCHER} "-DETB_SELECT=$etbackend" "-DMODEL=$programs/add.pte" "-DOPS=$2"
}
configure consumer "$build/ops.yaml" >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; fail "configuring"; }
"${CMAKE:-cmake}" --build "$build/consumer" -j "${JOBS:-2}" >"$build/build.log" 2>&1 || { tail -40 "$build/build.log"; fail "building"; }
for program in run_from_ops run_from_models; do
  out=$("$build/consumer/$program" "$programs/add.pte" "$programs/conv.pte") || fail "$program: $out"
  echo "$out"
  case $out in
    *"1 kernels"*"output 0 ends with 66"*"argument 0 is int64, which this run time was built without"*"DTYPES"*"aten::convolution.out"*"etbackend select MODEL -o ops.yaml"*) ;;
    *) fail "$program: other output than expected" ;;
  esac
  # Loops of add and its scaled form, no other; no kernel of another file.
  symbols=$(nm -C "$build/consumer/$program")
  if grep -E 'convolution|softmax|unary_|binary_(mul|pow)' <<<"$symbols"; then fail "$program has kernels that were not selected"; fi
  grep -q 'binary_add' <<<"$symbols" || fail "$program has no loop of add: the check above sees nothing"
done
printf 'operators:\n  aten::no_such_op.out: [float32]\ndtypes: [float32]\n' >"$build/unknown.yaml"
if configure unknown "$build/unknown.yaml" >"$build/unknown.log" 2>&1; then fail "an unknown operator configures"; fi
grep -q "no portable kernel for no_such_op" "$build/unknown.log" || { cat "$build/unknown.log"; fail "no message for the unknown operator"; }
echo "$(stat -c %s "$build/consumer/run_from_ops") bytes"
