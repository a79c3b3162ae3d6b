#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests wording.sh on a small tree: it finds offences in each kind of file, and counts may shrink but not grow.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORDING_ROOT=$work/tree WORDING_BASELINE=$work/baseline.txt WORDING_LEAST=1
mkdir -p "$work/tree"
fail() { echo "FAILED: $*"; exit 1; }
finds() {  # FILE TEXT WORDS...: the scan of TEXT in FILE reports exactly WORDS
  local file=$1 text=$2 found
  shift 2
  rm -f "$work/tree"/*
  printf '%b\n' "$text" >"$work/tree/$file"
  found=$("$here/wording.sh" --list | sed "s/^[^']*'\(.*\)' in \".*/\1/" | paste -sd,)
  [ "$found" = "$(IFS=,; echo "$*")" ] || fail "$file: found '$found' in '$text', expected '$*'"
}

finds a.cpp '// What a node reads.' What
finds a.cpp '// Reads a node. Who wrote it does not matter.' '. Who'
finds a.cpp 'int x;  // nobody reads it' nobody
finds a.cpp 'f("// nobody");  // text only'
finds a.cpp '/* The bytes lie\n   behind the end, whatever they are. */' whatever 'behind the end'
finds a.cpp '// Quoted words are no offence: "whoever", `nobody`.'
finds a.cpp '// An understanding of whether it stands, and a library that lies: no offence.'
finds a.cpp '// Takes an op apart. A number stands for a list, and the list is computed anew.' 'takes an op apart' 'stands for' anew
finds a.cpp '// A custom op; an op of its own is no offence, an op of your own is.' 'of your own'
finds a.sh '#!/bin/bash\n# Somebody else tells it.\necho nobody' somebody tells
finds CMakeLists.txt '# It stands in the list.' 'stands in'
finds a.md '# What it is\n\n- Whether it runs.\n\n```sh\n# nobody\n```' Whether

rm -f "$work/tree"/*
printf '// nobody\n// whoever\n' >"$work/tree/old.cpp"
"$here/wording.sh" --reset >/dev/null
"$here/wording.sh" >/dev/null || fail "the baseline itself does not pass"
printf '// somebody\n' >>"$work/tree/old.cpp"
if "$here/wording.sh" >"$work/output.txt"; then fail "a third offence in a file with two passed"; fi
grep -q '^  old.cpp:3: .somebody.*instead: ' "$work/output.txt" || fail "the report does not name line 3: $(cat "$work/output.txt")"
if "$here/wording.sh" --rebase >/dev/null; then fail "--rebase raised a count"; fi
printf '// nobody\n' >"$work/tree/old.cpp"
"$here/wording.sh" >"$work/output.txt"
grep -q '^1 files have fewer' "$work/output.txt" || fail "an improved file is not mentioned: $(cat "$work/output.txt")"
"$here/wording.sh" --rebase >/dev/null
printf '// nobody\n// whoever\n' >"$work/tree/old.cpp"
if "$here/wording.sh" >/dev/null; then fail "a count grew after --rebase"; fi
printf '// nobody\n' >"$work/tree/old.cpp"
printf '// nobody\n' >"$work/tree/new.cpp"
if "$here/wording.sh" >/dev/null; then fail "an offence in a new file passed"; fi
echo "the check finds, forgives and forbids as it says"
