#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles what `etbackend bind` writes: a library for `run --kernels`, and rows for a run time with selected kernels. A function
# that does not fit its schema is an error of the compiler that quotes the schema.
# usage: custom_kernels.sh ETBACKEND REPOSITORY BUILD_FOLDER
set -euo pipefail
etbackend=$1 repository=$2 build=$3
fixture=$repository/tests/fixtures/custom_op
fail() { echo "FAILED: $*"; exit 1; }
mkdir -p "$build"
cd "$build"
compiler=("${CXX:-c++}" -std=c++20 -Wall -Wextra -Werror "-I$repository" "-I$repository/api/include" -I.)
schema='my::scale(Tensor x, float factor=2.0) -> Tensor'
write_list() { printf 'header: scale.hpp\n- func: %s\n  kernel: my::scale\n' "$schema" >ops.yaml; }
write_header() { printf '#include "host/runtime/kernel_context.hpp"\n#include "host/runtime/evalue.hpp"\nnamespace my { %s }\n' "$1" >scale.hpp; }

# Functions that do not fit, and the message for each.
write_list
"$etbackend" bind ops.yaml -o bindings.cpp
expect() {
  write_header "$1"
  if "${compiler[@]}" -fsyntax-only bindings.cpp 2>errors.txt; then fail "compiles: $1"; fi
  grep -qF "$2; the schema is $schema" errors.txt || { cat errors.txt; fail "no message '$2' for $1"; }
}
types='using namespace etb::host;'
expect "$types etb_status scale(KernelContext&, const Tensor&, Tensor&);" 'scale must have 3 parameters after the context: x, factor, out'
expect "$types etb_status scale(KernelContext&, const Tensor&, float, Tensor&);" "parameter 3 of my::scale is for the argument 'factor' and must be double"
expect "$types etb_status scale(KernelContext&, Tensor&, double, Tensor&);" "parameter 2 of my::scale is for the argument 'x' and must be const Tensor&"
expect "$types etb_status scale(KernelContext&, const Tensor&, double, const Tensor&);" "parameter 4 of my::scale is for the argument 'out' and must be Tensor&"
expect "$types void scale(KernelContext&, const Tensor&, double, Tensor&);" 'my::scale must return etb_status, and its first parameter must be etb::host::KernelContext&'

# The right one computes PyTorch's numbers.
write_header "$types etb_status scale(KernelContext&, const Tensor&, double, Tensor&);"
cp "$repository/docs/examples/custom_kernels/scale.cpp" scale.cpp
"${compiler[@]}" -shared -fPIC bindings.cpp scale.cpp "$repository"/host/runtime/{kernel_context,tensor,dtype}.cpp -o kernels.so
"$etbackend" compile "$fixture/custom_op.pt2" -o custom.pte --custom-op "$schema"
chmod 755 . kernels.so
"$etbackend" run custom.pte --kernels ./kernels.so --input "$fixture/custom_op.in.0.npy" --output-dir out
cmp out/0.npy "$fixture/custom_op.out.0.npy" || fail "other numbers than PyTorch's"
echo "five functions refused, one runs"
