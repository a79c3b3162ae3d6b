#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Extracts the examples of the contract headers, compiles each as C11 with warnings as errors, and runs them
# (header_examples.c). With a second argument, it makes one plugin of relu.c and relu_aot.c and verifies that instead.
# An example is a comment "// Example NAME.c: ..." followed by lines that begin with "//   ".
# usage: header_examples.sh CC [ETBACKEND]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../api/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk -v work="$work" '
  /^\/\/ Example [a-z_]+\.c: / { file = work "/" substr($3, 1, length($3) - 1); begun = 0; next }
  file != "" && /^\/\/   / { begun = 1; print substr($0, 6) > file; next }
  file != "" && /^\/\/$/ { if (begun) print "" > file; next }
  file != "" && begun { close(file); file = "" }' "$include"/etb/*.h

cd "$work"
for name in add host list_nodes relu relu_aot; do   # module.h, delegate.h, graph.h, plugin.h, aot.h
  [ -s "$name.c" ] || { echo "FAILED: no header has the example $name.c"; exit 1; }
done
if [ $# = 2 ]; then
  # Join both halves as aot.h says: the table, and the profile in the identity.
  sed -i 's/ETB_PROFILE_RUNTIME, 0/ETB_PROFILE_RUNTIME | ETB_PROFILE_AOT, 0/
    s/\.delegate = &delegates}/.delegate = \&delegates, .aot = \&relu_aot}/
    s/^#include "etb\/all.h"/&\nextern const etb_aot_table relu_aot;/' relu.c
  cat >relu.json <<EOF
{"manifest_version": 1, "id": "com.example.relu", "version": "1.0.0", "vendor": "Example Inc.",
 "provides": [{"id": "ReluBackend", "payload_versions": [1, 1]}],
 "abi": {"min": "1.0", "max": "1.0", "profiles": ["runtime", "aot"]},
 "libraries": [{"os": "linux", "arch": "$(uname -m)", "path": "relu.so"}]}
EOF
  "$1" -std=c11 -O1 -fPIC -shared -fvisibility=hidden -I"$include" relu.c relu_aot.c -o relu.so
  "$2" verify relu.so --profile ci
  exit
fi
cp "$here/header_examples.c" .
for source in *.c; do
  "$1" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$include" -c "$source" -o "${source%.c}.o" ||
    { echo "FAILED: $source does not compile"; exit 1; }
done
"$1" header_examples.o host.o list_nodes.o relu.o relu_aot.o -o header_examples   # add.c needs the runtime library
./header_examples "$here/relu.etg" >output.txt || { cat output.txt; exit 1; }
grep -q '^node 0: aten.relu.default$' output.txt || { cat output.txt; echo "FAILED: list_nodes.c printed no node"; exit 1; }
tail -n 1 output.txt
