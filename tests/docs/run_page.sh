#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every ```sh block of a page, in order, in one shell, in a folder with the models that the page names.
# usage: run_page.sh PAGE.md BUILD_DIR FIXTURES
set -euo pipefail
page=$1 build=$2 archives=$3
work=$build/tests/docs/$(basename "$page" .md)
rm -rf "$work"
mkdir -p "$work"
cp "$archives/lenet.pt2" "$work/model.pt2"
cp "$archives/lenet.in.0.npy" "$work/x.npy"
cp "$archives/mlp.pt2" "$work/prefill.pt2"
cp "$archives/tied.pt2" "$work/decode.pt2"
cp "$archives/../zoo/training_convolutions.pt2" "$work/training.pt2"
cp "$archives"/../custom_op/custom_op.* "$archives"/../language_models/decoder.pt2 "$work"
cp "$archives/../language_models/decoder.0.in.0.npy" "$work/tokens.npy"
cp "$archives/../language_models/decoder.0.in.1.npy" "$work/position.npy"
cp "$build/host/module/libtest_kernel_library.so" "$work/kernels.so"
# A block without a language is the content of the file named last before it.
awk '/`[a-z_.]*\.rules`:$/ { match($0, /[a-z_]*\.rules/); name = substr($0, RSTART, RLENGTH) }
     /^```$/ && name != "" && !inside { inside = 1; next }
     /^```$/ && inside { inside = 0; name = "" }
     inside { print > (work "/" name) }' work="$work" "$page"
awk '!inside && /^```sh$/ { inside = 1; print "echo \"== line " NR "\" >&2"; blocks++; next }
     inside && /^```$/ { inside = 0; next }
     inside { print }
     END { if (blocks < 3) { print "no blocks found in the page" > "/dev/stderr"; exit 1 } }' "$page" >"$work/page.sh"
cd "$work"
PATH=$build/bin:$PATH bash -euxo pipefail page.sh >output.txt 2>&1 || { cat output.txt; echo "FAILED: $page, the last line above"; exit 1; }
[ -s delegated/0.npy ] && [ -s report.json ] && [ -s report.html ] || { echo "FAILED: a file that the page makes is not there"; exit 1; }
grep -q '^Total delegated subgraphs: 1$' output.txt || { cat output.txt; echo "FAILED: no report"; exit 1; }
echo "$(grep -c '^== line' output.txt) blocks of $(basename "$page") ran"
