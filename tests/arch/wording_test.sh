#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests wording.sh on a small tree: it finds offences in each kind of file, and its exit code says so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORDING_ROOT=$work/tree WORDING_LEAST=1
mkdir -p "$work/tree"
fail() { echo "FAILED: $*"; exit 1; }
finds() {  # FILE TEXT WORDS...: the scan of TEXT in FILE reports exactly WORDS
  local file=$1 text=$2 found
  shift 2
  rm -f "$work/tree"/*
  printf '%b\n' "$text" >"$work/tree/$file"
  found=$({ "$here/wording.sh" || true; } | { grep 'instead: ' || true; } | sed "s/^[^']*'\(.*\)' in \".*/\1/" | paste -sd,)
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
printf '// Reads a node.\n' >"$work/tree/good.cpp"
"$here/wording.sh" >/dev/null || fail "a file without offence does not pass"
printf '// Reads a node.\n// somebody\n' >"$work/tree/bad.cpp"
if "$here/wording.sh" >"$work/output.txt"; then fail "an offence passed"; fi
grep -q '^bad.cpp:2: .somebody.*instead: ' "$work/output.txt" || fail "the report does not name line 2: $(cat "$work/output.txt")"
"$here/wording.sh" good.cpp >/dev/null || fail "a named file without offence does not pass"
if "$here/wording.sh" bad.cpp >/dev/null; then fail "an offence in a named file passed"; fi
echo "the check finds and forbids as it says"
