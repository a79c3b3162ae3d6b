#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# error_texts lists each text of the core once for each source that has it, explains places, and refuses a text that it cannot read.
# usage: error_texts_test.sh REPOSITORY [EMULATOR...] ERROR_TEXTS
set -euo pipefail
cd "$1"
shift
error_texts=("$@")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

"${error_texts[@]}" api/format/{segment_area,program_verify,program_verify_method}.cpp host/runtime/{method,method_load,method_delegates,method_kernels}.cpp \
  host/static_delegates/*.cpp >"$folder/table"
calls=$(grep -hE '(^|[^_[:alnum:]])fail(_in)?\(' api/format/{segment_area,program_verify,program_verify_method}.cpp \
  host/runtime/{method,method_load,method_delegates,method_kernels}.cpp host/static_delegates/*.cpp | wc -l)
rows=$(wc -l <"$folder/table")
[ "$rows" -ge 100 ] && [ "$rows" -eq "$calls" ] || fail "$rows rows for $calls calls"

id_of() { grep -F " $1" "$folder/table" | head -1 | cut -c1-4; }
out=$("${error_texts[@]}" --explain "$folder/table" "@$(id_of 'tensor of dtype code %u'):77@$(id_of 'payload location %d, expected 0 or 1'):3")
grep -q 'program_verify_method.cpp:[0-9]*: tensor of dtype code 77$' <<<"$out" || fail "$out"
grep -q 'payload location 3, expected 0 or 1$' <<<"$out" || fail "$out"
if "${error_texts[@]}" --explain "$folder/table" "@zzzz:1" >/dev/null; then fail "an unknown place is explained"; fi

cat >"$folder/source.cpp" <<'CPP'
// fail(error, code, text) in a comment, and a text in two lines:
etb_status f(etb_error* error) { return fail(error, g("x", 'c'), "list item %u: "
    "value %" PRId64 " is \"odd\"", 1, 2); }
CPP
"${error_texts[@]}" "$folder/source.cpp" >"$folder/small" || fail "a call with a literal is refused"
grep -q ':2 list item %u: value %d is "odd"$' "$folder/small" || fail "$(cat "$folder/small")"
[ "$(wc -l <"$folder/small")" -eq 1 ] || fail "more than one row"
echo 'etb_status f(etb_error* error, const char* text) { return fail(error, 1, text); }' >"$folder/source.cpp"
if "${error_texts[@]}" "$folder/source.cpp" >/dev/null 2>&1; then fail "a text that is no literal is accepted"; fi
echo "$rows texts of the core have places"
