#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a run time with the kernel of x + y from a list and from the model. It runs that model, refuses other dtypes and another
# model with the missing operator and the way to add it, and contains no other kernel, loop or operator of the core. Wrong lists are errors of CMake.
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
# Operators of the core, or without a portable kernel:
others: []
YAML
configure() {
  "${CMAKE:-cmake}" -G Ninja -S "$repository/tests/select/consumer" -B "$build/$1" -DCMAKE_BUILD_TYPE=MinSizeRel "-DREPOSITORY=$repository" \
    ${LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER=$LAUNCHER} "-DETB_SELECT=$etbackend" "-DMODEL=$programs/add.pte" "-DOPS=$2"
}
# Without the line of the core's operators, a list keeps all of them; that of the model keeps none.
grep -v '^others' "$build/ops.yaml" >"$build/without_others.yaml"
configure consumer "$build/without_others.yaml" >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; fail "configuring"; }
"${CMAKE:-cmake}" --build "$build/consumer" -j "${JOBS:-2}" >"$build/build.log" 2>&1 || { tail -40 "$build/build.log"; fail "building"; }
for program in run_from_ops run_from_models; do
  status=0
  out=$("$build/consumer/$program" "$programs/add.pte" "$programs/conv.pte") || status=$?
  echo "$out"
  case $program:$status:$out in
    run_from_ops:0:*"1 kernels"*"output 0 ends with 66"*"argument 0 is int64, which this run time was built without"*"DTYPES"*"aten::convolution.out"*"etbackend select MODEL -o ops.yaml"*) ;;
    # The model is refused when it is loaded, before any input is there.
    run_from_models:1:*"1 kernels"*"aten::add.out: argument 0 is float32, which this run time was built without: add it to DTYPES of etb_add_runtime"*) ;;
    *) fail "$program: other output than expected" ;;
  esac
  # Loops of add and its scaled form, no other; no kernel of another file.
  symbols=$(nm -C "$build/consumer/$program")
  if grep -E 'convolution|softmax|unary_|binary_(mul|pow)' <<<"$symbols"; then fail "$program has kernels that were not selected"; fi
  case $program:$(grep -c share_view <<<"$symbols") in
    run_from_ops:0) fail "$program has no operators of the core" ;;
    run_from_ops:* | run_from_models:0) ;;
    *) fail "$program has operators of the core that were not selected" ;;
  esac
  grep -q 'binary_add' <<<"$symbols" || fail "$program has no loop of add: the check above sees nothing"
done
# A kernel of an op that the repository does not have.
out=$("$build/consumer/run_custom") || fail "run_custom: $out"
[ "$out" = "my::scale.out: 2 4 6" ] || fail "run_custom: $out"
fixture=$repository/tests/fixtures/custom_op
chmod 755 "$build/consumer" "$build/consumer/scale_library.so"
"$etbackend" compile "$fixture/custom_op.pt2" -o "$build/custom.pte" --custom-op 'my::scale(Tensor x, float factor=2.0) -> Tensor' >/dev/null
"$etbackend" run "$build/custom.pte" --kernels "$build/consumer/scale_library.so" --input "$fixture/custom_op.in.0.npy" --output-dir "$build/custom_out" >/dev/null
cmp "$build/custom_out/0.npy" "$fixture/custom_op.out.0.npy" || fail "the library of kernels computes other numbers than PyTorch"
printf 'operators:\n  aten::no_such_op.out: [float32]\ndtypes: [float32]\n' >"$build/unknown.yaml"
if configure unknown "$build/unknown.yaml" >"$build/unknown.log" 2>&1; then fail "an unknown operator configures"; fi
grep -q "no portable kernel for no_such_op" "$build/unknown.log" || { cat "$build/unknown.log"; fail "no message for the unknown operator"; }
echo "$(stat -c %s "$build/consumer/run_from_ops") bytes"
