#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the shipped digit classifier and runs it over its test set; PyTorch gets 356 of the 360 right.
# usage: classify_digits.sh ETBACKEND CLASSIFY_DIGITS DIGITS_DIR [compile arguments...]
set -euo pipefail
etbackend=$1 classify=$2 digits=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$etbackend" compile "$digits/digits.pt2" "$@" -o "$work/digits.pte"
"$classify" "$work/digits.pte" "$digits/digits.bin"
